/* The eight kernels in OpenCL C, for PoCL and Oclgrind; opencl.c runs them. */
__kernel void saxpy(__global float*x,__global float*y,float a){int i=get_global_id(0);y[i]=a*x[i]+y[i];}
__kernel void mandel(__global int*out,int W,int H,int maxit){int i=get_global_id(0);int px=i%W,py=i/W;float cx=-2.0f+3.0f*px/(float)W,cy=-1.5f+3.0f*py/(float)H;float x=0,y=0;int n=0;while(n<maxit&&x*x+y*y<4.0f){float t=x*x-y*y+cx;y=2*x*y+cy;x=t;n++;}out[i]=n;}
__kernel void nbody(__global const float4*p,__global float4*acc,int n){int i=get_global_id(0);float4 me=p[i];float ax=0,ay=0,az=0;for(int j=0;j<n;j++){float4 q=p[j];float dx=q.x-me.x,dy=q.y-me.y,dz=q.z-me.z;float d2=dx*dx+dy*dy+dz*dz+1e-6f;float inv=1.0f/sqrt(d2);float s=q.w*inv*inv*inv;ax+=dx*s;ay+=dy*s;az+=dz*s;}acc[i]=(float4)(ax,ay,az,0);}
#define T 16
__kernel void matmul(__global const float*A,__global const float*B,__global float*C,int N){__local float As[T][T],Bs[T][T];int tx=get_local_id(0),ty=get_local_id(1);int col=get_group_id(0)*T+tx,row=get_group_id(1)*T+ty;float s=0;for(int k=0;k<N;k+=T){As[ty][tx]=A[row*N+k+tx];Bs[ty][tx]=B[(k+ty)*N+col];barrier(CLK_LOCAL_MEM_FENCE);for(int j=0;j<T;j++)s+=As[ty][j]*Bs[j][tx];barrier(CLK_LOCAL_MEM_FENCE);}C[row*N+col]=s;}
__kernel void reduce(__global const float*x,__global float*o,int n){__local float s[256];int l=get_local_id(0);float v=0;for(int i=get_global_id(0);i<n;i+=get_global_size(0))v+=x[i];s[l]=v;barrier(CLK_LOCAL_MEM_FENCE);for(int d=128;d>0;d>>=1){if(l<d)s[l]+=s[l+d];barrier(CLK_LOCAL_MEM_FENCE);}if(l==0)o[get_group_id(0)]=s[0];}
__kernel void spmv(__global const int*rp,__global const int*ci,__global const float*v,__global const float*x,__global float*y){int r=get_global_id(0);float s=0;for(int k=rp[r];k<rp[r+1];k++)s+=v[k]*x[ci[k]];y[r]=s;}
__kernel void hist(__global const uint*x,__global uint*h,int n){__local uint s[256];int l=get_local_id(0);s[l]=0;barrier(CLK_LOCAL_MEM_FENCE);for(int i=get_global_id(0);i<n;i+=get_global_size(0))atomic_inc(&s[x[i]&255]);barrier(CLK_LOCAL_MEM_FENCE);atomic_add(&h[l],s[l]);}
float cnd(float d){float K=1.0f/(1.0f+0.2316419f*fabs(d));float c=0.39894228f*exp(-0.5f*d*d)*(K*(0.31938153f+K*(-0.356563782f+K*(1.781477937f+K*(-1.821255978f+K*1.330274429f)))));return d>0?1.0f-c:c;}
__kernel void bs(__global const float*S,__global const float*X,__global const float*Tm,__global float*C,__global float*P){int i=get_global_id(0);float R=0.02f,V=0.30f;float sT=sqrt(Tm[i]);float d1=(log(S[i]/X[i])+(R+0.5f*V*V)*Tm[i])/(V*sT),d2=d1-V*sT;float c1=cnd(d1),c2=cnd(d2),e=exp(-R*Tm[i]);C[i]=S[i]*c1-X[i]*e*c2;P[i]=X[i]*e*(1.0f-c2)-S[i]*(1.0f-c1);}
/* and five more, as in ../../examples */
__kernel void scan(__global const uint*x,__global uint*out,volatile __global uint*chain,uint n){__local uint s[256],sums[4],number;int l=get_local_id(0),lane=l&63,warp=l>>6;
 if(l==0)number=atomic_inc(chain);barrier(CLK_LOCAL_MEM_FENCE);uint b=number,part=(b*4+warp)*4096,sum=0;for(int k=lane;k<4096;k+=64)sum+=x[part+k];
 s[l]=sum;for(int d=32;d;d>>=1){barrier(CLK_LOCAL_MEM_FENCE);if(lane<d)s[l]+=s[l+d];}if(lane==0)sums[warp]=s[l];barrier(CLK_LOCAL_MEM_FENCE);
 if(l==0){uint t=0;if(b){while(!atomic_or(&chain[2*b+1],0));mem_fence(CLK_GLOBAL_MEM_FENCE);t=chain[2*b];}for(int k=0;k<4;k++){uint w=sums[k];sums[k]=t;t+=w;}
  if(b+1<get_num_groups(0)){chain[2*b+2]=t;mem_fence(CLK_GLOBAL_MEM_FENCE);atomic_xchg(&chain[2*b+3],1);}}
 barrier(CLK_LOCAL_MEM_FENCE);if(b+1==get_num_groups(0))for(uint k=l;k<2*get_num_groups(0);k+=256)chain[k]=0;uint carry=sums[warp];
 for(uint at=part;at<part+4096;at+=256){uint4 v=vload4(lane,x+at);v.y+=v.x;v.z+=v.y;v.w+=v.z;s[l]=v.w;
  for(int d=1;d<64;d<<=1){barrier(CLK_LOCAL_MEM_FENCE);uint t=lane>=d?s[l-d]:0;barrier(CLK_LOCAL_MEM_FENCE);s[l]+=t;}barrier(CLK_LOCAL_MEM_FENCE);
  vstore4(v+(carry+s[l]-v.w),lane,out+at);carry+=s[l|63];barrier(CLK_LOCAL_MEM_FENCE);}}
__kernel void transp(__global const float*a,__global float*b,int rows,int columns){__local float tile[64][65];int x=get_local_id(0),y=get_local_id(1);int c=get_group_id(0)*64+x,r=get_group_id(1)*64+y;
 for(int k=0;k<64;k+=4)tile[y+k][x]=a[(r+k)*columns+c];barrier(CLK_LOCAL_MEM_FENCE);c=get_group_id(1)*64+x;r=get_group_id(0)*64+y;for(int k=0;k<64;k+=4)b[(r+k)*rows+c]=tile[x][y+k];}
__constant float filter[25]={0.00390625f,0.015625f,0.0234375f,0.015625f,0.00390625f,0.015625f,0.0625f,0.09375f,0.0625f,0.015625f,0.0234375f,0.09375f,0.140625f,0.09375f,0.0234375f,0.015625f,0.0625f,0.09375f,0.0625f,0.015625f,0.00390625f,0.015625f,0.0234375f,0.015625f,0.00390625f};
__kernel void conv(__global const float*image,__global float*out,int w,int h){__local float tile[8][68];int x=get_local_id(0),y=get_local_id(1);
 for(int j=y;j<8;j+=4)for(int i=x;i<68;i+=64){int c=clamp((int)get_group_id(0)*64+i-2,0,w-1),r=clamp((int)get_group_id(1)*4+j-2,0,h-1);tile[j][i]=image[r*w+c];}barrier(CLK_LOCAL_MEM_FENCE);
 float s=0;for(int j=0;j<5;j++)for(int i=0;i<5;i++)s+=filter[5*j+i]*tile[y+j][x+i];out[get_global_id(1)*w+get_global_id(0)]=s;}
__constant uint sha_k[64]={0x428a2f98,0x71374491,0xb5c0fbcf,0xe9b5dba5,0x3956c25b,0x59f111f1,0x923f82a4,0xab1c5ed5,0xd807aa98,0x12835b01,0x243185be,0x550c7dc3,0x72be5d74,0x80deb1fe,0x9bdc06a7,0xc19bf174,0xe49b69c1,0xefbe4786,0x0fc19dc6,0x240ca1cc,0x2de92c6f,0x4a7484aa,0x5cb0a9dc,0x76f988da,0x983e5152,0xa831c66d,0xb00327c8,0xbf597fc7,0xc6e00bf3,0xd5a79147,0x06ca6351,0x14292967,0x27b70a85,0x2e1b2138,0x4d2c6dfc,0x53380d13,0x650a7354,0x766a0abb,0x81c2c92e,0x92722c85,0xa2bfe8a1,0xa81a664b,0xc24b8b70,0xc76c51a3,0xd192e819,0xd6990624,0xf40e3585,0x106aa070,0x19a4c116,0x1e376c08,0x2748774c,0x34b0bcb5,0x391c0cb3,0x4ed8aa4a,0x5b9cca4f,0x682e6ff3,0x748f82ee,0x78a5636f,0x84c87814,0x8cc70208,0x90befffa,0xa4506ceb,0xbef9a3f7,0xc67178f2};
#define ROR(x,n) rotate((uint)(x),(uint)(32-(n)))
#define SWAP(x) ((ROR(x,8)&0xff00ff00u)|(ROR(x,24)&0x00ff00ffu))
__kernel void sha256(__global const uint*x,__global uint*digests,int n){int i=get_global_id(0);if(i>=n)return;uint w[16];for(int k=0;k<8;k++)w[k]=SWAP(x[8*i+k]);w[8]=0x80000000u;for(int k=9;k<15;k++)w[k]=0;w[15]=256;
 uint h[8]={0x6a09e667,0xbb67ae85,0x3c6ef372,0xa54ff53a,0x510e527f,0x9b05688c,0x1f83d9ab,0x5be0cd19};uint a=h[0],b=h[1],c=h[2],d=h[3],e=h[4],f=h[5],g=h[6],s=h[7];
 for(int r=0;r<64;r+=16){
#pragma unroll
 for(int k=0;k<16;k++){uint t=s+sha_k[r+k]+w[k]+(ROR(e,6)^ROR(e,11)^ROR(e,25))+((e&f)^(~e&g));uint u=(ROR(a,2)^ROR(a,13)^ROR(a,22))+((a&b)^(a&c)^(b&c));s=g;g=f;f=e;e=d+t;d=c;c=b;b=a;a=t+u;
  uint p=w[(k+1)&15],q=w[(k+14)&15];w[k]+=(ROR(p,7)^ROR(p,18)^(p>>3))+w[(k+9)&15]+(ROR(q,17)^ROR(q,19)^(q>>10));}}
 uint o[8]={a,b,c,d,e,f,g,s};for(int k=0;k<8;k++)digests[8*i+k]=SWAP(o[k]+h[k]);}
__kernel void bitonic(__global uint*x){__local uint s[512];int t=get_local_id(0);int base=get_group_id(0)*512;s[2*t]=x[base+2*t];s[2*t+1]=x[base+2*t+1];
 for(int k=2;k<=512;k<<=1)for(int j=k>>1;j>0;j>>=1){barrier(CLK_LOCAL_MEM_FENCE);int i=2*t-(t&(j-1));uint a=s[i],b=s[i+j],lo=min(a,b),hi=max(a,b);int up=(i&k)==0;s[i]=up?lo:hi;s[i+j]=up?hi:lo;}
 barrier(CLK_LOCAL_MEM_FENCE);x[base+2*t]=s[2*t];x[base+2*t+1]=s[2*t+1];}
