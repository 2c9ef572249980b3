// Compressible flow on an unstructured mesh: the sum of the fluxes (local Lax-Friedrichs) through the four faces of a
// cell.
#define GAMMA 1.4f
#define FACES 4
#define WALL -1
#define FAR -2
#define MIRROR -3

typedef struct { float rho, mx, my, mz, e; } State;
typedef struct { float vx, vy, vz, p, c; } Flow;

static Flow flow_of(const State *s) {
  Flow f;
  const float inv = 1.0f / s->rho;
  f.vx = s->mx * inv;
  f.vy = s->my * inv;
  f.vz = s->mz * inv;
  f.p = (GAMMA - 1.0f) * (s->e - 0.5f * s->rho * (f.vx * f.vx + f.vy * f.vy + f.vz * f.vz));
  if (f.p < 1e-4f) f.p = 1e-4f;
  f.c = sqrt(GAMMA * f.p * inv);
  return f;
}

static State load_state(__global const float *u, int i, int n) {
  State s = {u[i], u[i + n], u[i + 2 * n], u[i + 3 * n], u[i + 4 * n]};
  return s;
}

static void through(State *sum, const State *s, const Flow *f, float nx, float ny, float nz, float w) {
  const float vn = f->vx * nx + f->vy * ny + f->vz * nz;
  sum->rho += w * s->rho * vn;
  sum->mx += w * (s->mx * vn + f->p * nx);
  sum->my += w * (s->my * vn + f->p * ny);
  sum->mz += w * (s->mz * vn + f->p * nz);
  sum->e += w * (s->e + f->p) * vn;
}

__kernel void mesh_flux(int n, __global const int *neighbour, __global const float *normal, __global const float *u,
                        __global float *flux, __global float *fastest, __global const float *free_stream) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const State me = load_state(u, i, n);
  const Flow mine = flow_of(&me);
  State sum = {0, 0, 0, 0, 0};
  float top = 0;
  for (int f = 0; f < FACES; f++) {
    const int other = neighbour[f * n + i];
    const float nx = normal[(3 * f) * n + i], ny = normal[(3 * f + 1) * n + i], nz = normal[(3 * f + 2) * n + i];
    const float area = sqrt(nx * nx + ny * ny + nz * nz);
    if (other >= 0) {
      const State you = load_state(u, other, n);
      const Flow yours = flow_of(&you);
      const float a = fabs(mine.vx * nx + mine.vy * ny + mine.vz * nz) + mine.c * area;
      const float b = fabs(yours.vx * nx + yours.vy * ny + yours.vz * nz) + yours.c * area;
      const float s = fmax(a, b);
      through(&sum, &me, &mine, nx, ny, nz, 0.5f);
      through(&sum, &you, &yours, nx, ny, nz, 0.5f);
      sum.rho += 0.5f * s * (me.rho - you.rho);
      sum.mx += 0.5f * s * (me.mx - you.mx);
      sum.my += 0.5f * s * (me.my - you.my);
      sum.mz += 0.5f * s * (me.mz - you.mz);
      sum.e += 0.5f * s * (me.e - you.e);
      top = fmax(top, s);
    } else if (other == WALL) {
      sum.mx += mine.p * nx;
      sum.my += mine.p * ny;
      sum.mz += mine.p * nz;
    } else if (other == FAR) {
      const float out = mine.vx * nx + mine.vy * ny + mine.vz * nz;
      if (out > mine.c * area) {
        through(&sum, &me, &mine, nx, ny, nz, 1.0f); // supersonic, outwards
      } else {
        const State far = load_state(free_stream, 0, 1);
        const Flow there = flow_of(&far);
        through(&sum, &me, &mine, nx, ny, nz, 0.5f);
        through(&sum, &far, &there, nx, ny, nz, 0.5f);
        top = fmax(top, fabs(out) + mine.c * area);
      }
    } else if (other == MIRROR || area < 1e-6f) {
      const float vn = (mine.vx * nx + mine.vy * ny + mine.vz * nz) / fmax(area, 1e-6f);
      sum.mx += (mine.p + me.rho * vn * vn) * nx;
      sum.my += (mine.p + me.rho * vn * vn) * ny;
      sum.mz += (mine.p + me.rho * vn * vn) * nz;
    }
  }
  flux[i] = sum.rho;
  flux[i + n] = sum.mx;
  flux[i + 2 * n] = sum.my;
  flux[i + 3 * n] = sum.mz;
  flux[i + 4 * n] = sum.e;
  fastest[i] = top;
}
