" MX assembly and PTX; the syntax itself is made by `mxasm --syntax=vim`.
autocmd BufNewFile,BufRead *.mxs,*.ptx setfiletype mx
autocmd FileType mx setlocal commentstring=//\ %s
