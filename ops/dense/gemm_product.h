// C = A B by blocks, after Goto and van de Geijn (Anatomy of High-Performance Matrix Multiplication, 2008):
//
//                                super_n
//                     +--------+--------+--------+---+
//                  kc |   nc   |   nc   |        |   |  B: one packed copy, in panels [kc][nr], in the last cache.
//                     +--------+--------+--------+---+     The kc x nc block that a task reads is in L2.
//             kc
//           +----+    +--------+--------+--------+---+
//           |    | mc |  task  |  task  |        |   |  C: a task computes mc x nc, tile by tile of mr x nr.
//    super_ | A  |    +--------+--------+--------+---+     The sums of a tile are in registers.
//    rows   |    | mc |  task  |        |        |   |  A: mr x kc, for a row of tiles, are in L1.
//           +----+    +--------+--------+--------+---+
//
// run_packed walks over the blocks of n (super_n), k (kc) and m (super_rows), with m in the innermost loop. run_block
// packs A and B of such a block, multiply_packed splits the block into tasks of mc x nc, tiles walks over a task's
// tiles row by row, and write_tile passes each tile to the micro-kernel (kernels/gemm_kernels.h).
//
// There are three variants. An A with contiguous rows is not packed but read in place, and a block then contains as
// many rows as possible. If one block contains all rows, no two tasks need the same columns of B. Each task then packs
// its own columns (multiply_packing), most of them while it multiplies its first row of tiles. B may already be packed
// (pack_b). Products with few rows need no packing at all (run_few).
//
// Panels hold k in whole units (kernels/gemm.h). The `depth` of a block is its k, rounded up to units. A bf16 C can't
// hold sums, so it is written from the sums of each tile. If k has several blocks, the sums are kept in `partial` until
// the last block.
#pragma once
#include <algorithm>
#include <cstdint>

#include "dense/gemm.h"
#include "dense/packing.h"
#include "weft/context.h"

namespace weft::detail {

using std::int64_t;

// Thresholds for reading B without packing. B is not packed for up to unpacked_rows rows. The limit is
// unpacked_dot_rows if A and B are contiguous along k and k is at least long_dot. In this case, the product consists of
// dot products, each of which ends in a sum over the lanes. Larger: B is read in place where packed panels would be
// faster. Smaller: too few rows share the packed panels. Smaller long_dot: the sums over the lanes take too much time.
// bench: weft-bench --benchmark_filter='gemm-nt(-cold)?/[0-9]*x2048x512'
inline constexpr int64_t unpacked_rows = 8;
inline constexpr int64_t unpacked_dot_rows = 16;
inline constexpr int64_t long_dot = 192;
// The number of columns of B that are packed at the same time. Larger: B's packed panels leave the last-level cache.
// Smaller: fewer columns share A's packed rows.
// bench: weft-bench --benchmark_filter='gemm-n[nt]/4096'
inline constexpr int64_t super_columns = 3072;
// The minimum number of tasks, and of rows of tasks, that share the packed panels of one block. Larger: more threads
// are busy, but B's panels are read more often. Smaller: A's panels are smaller.
// bench: weft-bench --benchmark_filter=gemm-tn
inline constexpr int64_t super_tasks = 16, super_tasks_down = 4;
// The number of tasks for each thread, provided that a task has at least task_tile_rows rows of tiles. Larger: the
// threads finish at the same time, even if one of them is delayed. Smaller: tasks read their columns of B less often.
// bench: bench/steps/busy; weft-step-bench --model gmlp
inline constexpr int64_t tasks_of_thread = 12, task_tile_rows = 4;
// The approximate number of sums of a bf16 C that are kept at the same time. Larger: more memory. Smaller: B is packed
// more often.
// bench: weft-bench --benchmark_filter='gemm-bf16-nt/4096x768x3072'
inline constexpr int64_t waiting_sums = 1 << 20;
// The distance in bytes between addresses in the same set of an L1 with 64 sets. Rows of A at multiples of this
// distance would evict each other, so they are packed.
// bench: weft-bench --benchmark_filter='gemm-n[nt]/(4096x512x2048|1024)'
inline constexpr int64_t same_set = 4096;

template <class T>
GemmEpilogue<T> shifted(GemmEpilogue<T> e, int64_t i, int64_t j) {
  if (e.bias) e.bias += i * e.bias_row + j * e.bias_column;
  if (e.gate) e.gate += i * e.gate_row + j;
  if (e.residual) e.residual += i * e.residual_row + j;
  if (e.preactivation) e.preactivation += i * e.preactivation_row + j;
  return e;
}

// A block of A and a block of B. The first `direct` rows of A are read in place, the others from the panels. The
// columns of B from number `unpacked` on are packed already. The first row of tiles reads the earlier columns in place
// and packs them.
template <class T>
struct Operands {
  using In = GemmIn<T>;
  MatrixView<const In> a;
  int64_t direct;
  const In *a_panels, *b_panels;
  const In* b = nullptr;  // the block's first element of B
  int64_t unpacked = 0;
  In* packs = nullptr;  // the panels to write
};

// One product of two matrices.
template <class T>
struct Product {
  using In = GemmIn<T>;
  using Out = GemmOut<T>;
  using Sum = GemmSum<T>;
  const GemmKernels<T>& kernel;
  const GemmProblem<T>& g;
  const In *a, *b;
  Out* c;

  // super_rows() is the number of rows in a packed block of A, and super_n() is the number of columns in a packed block
  // of B.
  int64_t super_rows() const {
    const int64_t across = (super_n() - 1) / kernel.nc + 1, down = std::max(super_tasks_down, super_tasks / across);
    return std::min(rounded_up(g.m, kernel.mr), down * kernel.mc);
  }
  int64_t rows_at_once() const { return reads_a() ? pass_rows() : super_rows(); }
  int64_t super_n() const { return std::min(rounded_up(g.n, kernel.nr), rounded_up(super_columns, kernel.nr)); }
  int64_t block_k() const { return k_block(kernel, g.k); }
  int64_t a_elements() const { return (reads_a() ? kernel.mr : rows_at_once()) * block_k(); }
  int64_t b_elements() const { return shares_b() ? super_n() * block_k() : 0; }
  // Whether sums are kept outside of C from one block of k to the next.
  bool sums_wait() const { return !holds_sums<T> && block_k() < g.k; }
  // The number of rows of C that are computed over all of k before the next rows.
  int64_t pass_rows() const {
    const int64_t all = rounded_up(g.m, kernel.mr), rows = super_rows();
    return sums_wait() ? std::min(all, std::max(rows, waiting_sums / super_n() / rows * rows)) : all;
  }
  int64_t partial_elements() const { return sums_wait() ? pass_rows() * super_n() : 0; }

  // Whether the rows of A are read in place. Their elements must be contiguous. The rows of an incomplete last tile are
  // packed in any case.
  bool reads_a() const {
    const bool shares_sets = g.a.row * int64_t{sizeof(In)} % same_set == 0;
    return kernel.rows_of_a == RowsOfA::in_place && g.a.column == 1 && g.sign == 1 && g.k % unit<In> == 0 &&
           !shares_sets;
  }
  int64_t direct_rows(int64_t rows) const { return reads_a() ? rows / kernel.mr * kernel.mr : 0; }

  bool contiguous_k() const { return g.a.column == 1 && g.b.row == 1; }
  bool contiguous_n() const { return g.b.column == 1 && g.c.column == 1; }
  // Whether all tasks read one packed copy of B. Otherwise each task packs the columns that it needs, for all rows.
  // With few panels, there would be too few such tasks.
  // bench: weft-bench --benchmark_filter=gemm-nn
  bool shares_b() const { return !g.packed_b && (g.m > super_rows() || g.n < 8 * kernel.nr || !g.batch.empty()); }

  // A block: rows i0 … i0+rows and columns j0 … j0+columns of C, and elements k0 … k0+k of each sum. All upper ends are
  // exclusive.
  struct Block {
    int64_t i0, rows, j0, columns, k0, k;
    bool first, last;  // whether this is the first or last block of k
    bool packs_b;      // this is the first block of the pass that reads this block of B
    Sum* partial;      // the sums of the block, in rows of super_n() elements, or null
    int64_t depth() const { return padded<In>(k); }
  };

  // The buffers have a_elements(), b_elements() and partial_elements() elements.
  void run_packed(In* packed_a, In* packed_b, Sum* partial) const {
    const int64_t kc = block_k();
    for (int64_t j = 0; j < g.n; j += super_n())
      for (int64_t pass = 0; pass < g.m; pass += pass_rows())
        for (int64_t p = 0; p == 0 || p < g.k; p += kc)
          for (int64_t i = pass; i < std::min(g.m, pass + pass_rows()); i += rows_at_once()) {
            const Block block{i,         std::min(rows_at_once(), g.m - i),
                              j,         std::min(super_n(), g.n - j),
                              p,         std::min(kc, g.k - p),
                              p == 0,    p + kc >= g.k,
                              i == pass, sums_wait() ? partial + (i - pass) * super_n() : nullptr};
            run_block(block, packed_a, packed_b);
          }
  }

  void run_block(const Block& block, In* packed_a, In* packed_b) const {
    const In* from_a = a + block.i0 * g.a.row + block.k0 * g.a.column;
    const In* from_b = b + block.k0 * g.b.row + block.j0 * g.b.column;
    Operands<T> from{{from_a, g.a.row, g.a.column}, direct_rows(block.rows), packed_a, packed_b};
    pack_panels<T>(kernel.pack_a, kernel.mr, block.rows - from.direct, block.k, from_a + from.direct * g.a.row, g.a.row,
                   g.a.column, g.sign, packed_a);
    if (g.packed_b) {
      from.b_panels = g.packed_b + layout_of(kernel, g.k, g.n).at(block.k0, block.j0);
    } else if (!shares_b()) {
      return multiply_packing(block, from, from_b);
    } else if (block.packs_b) {
      pack_panels<T>(kernel.pack_b, kernel.nr, block.columns, block.k, from_b, g.b.column, g.b.row, 1, packed_b);
    }
    multiply_packed(block, from);
  }

  void multiply_packed(const Block& block, const Operands<T>& from) const {
    const int64_t nc = kernel.nc, across = (block.columns - 1) / nc + 1;
    const int64_t wanted = (tasks_of_thread * Context::current().threads() - 1) / across + 1;
    const int64_t most = block.rows / (task_tile_rows * kernel.mr);
    const int64_t down = std::max<int64_t>({1, (block.rows + kernel.mc / 2) / kernel.mc, std::min(wanted, most)});
    const int64_t mc = rounded_up((block.rows - 1) / down + 1, kernel.mr);
    const int64_t grain = std::max<int64_t>(1, task_work / std::max<int64_t>(1, mc * nc * block.k));
    Context::current().parallel_for(down * across, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t i = task / across * mc, j = task % across * nc;
        if (i >= block.rows) continue;
        const int64_t i2 = std::min(block.rows, i + mc), j2 = std::min(block.columns, j + nc);
        // Prefetches the next columns, or the first columns again if the next task has other rows.
        const In* next = from.b_panels + (j2 == block.columns && i2 < block.rows ? 0 : j2) * block.depth();
        tiles(block, from, i, i2, j, j2, next);
      }
    });
  }

  // Whether the tiles of the first mr rows may pack B, because they read all of it.
  bool packs_on_the_way(const Block& block) const {
    return g.b.column == 1 && block.rows >= kernel.mr && g.a_triangle == Triangle::none && !g.c_lower &&
           block.k == block.depth();
  }

  // Multiplies a block that contains all rows. No two tasks need the same columns of B, so each task packs its own
  // columns, which stay in its cache. The number of columns of a task depends on the number of threads, but the order
  // of the sums of an element does not. `from_b` is the block's first element of B.
  void multiply_packing(const Block& block, const Operands<T>& from, const In* from_b) const {
    const int64_t work = std::max<int64_t>(1, block.rows * block.k),
                  tasks = tasks_of_thread * Context::current().threads();
    const int64_t least = std::max<int64_t>(16 * task_work / work, (block.columns - 1) / tasks) + 1;
    const int64_t nc = std::min(kernel.nc, rounded_up(least, kernel.nr));
    const auto bytes = static_cast<std::size_t>(nc * block.depth()) * sizeof(In);
    Context::current().parallel_for(block.columns, nc, bytes, [&](int64_t begin, int64_t end, void* scratch) {
      In* own = static_cast<In*>(scratch);
      const int64_t later = packs_on_the_way(block) ? (end - begin) / kernel.nr * kernel.nr : 0, first = begin + later;
      kernel.pack_b(end - first, block.k, from_b + first * g.b.column, g.b.column, g.b.row, 1,
                    own + later * block.depth());
      In* panels = own - begin * block.depth();
      tiles(block, {from.a, from.direct, from.a_panels, panels, from_b, first, panels}, 0, block.rows, begin, end, own);
    });
  }

  // Computes rows i1 … i2 - 1 and columns j1 … j2 - 1 of the block. Prefetches as many panels as it reads, starting at
  // `next`. Each row of tiles also prefetches the A of the next row.
  void tiles(const Block& block, const Operands<T>& from, int64_t i1, int64_t i2, int64_t j1, int64_t j2,
             const In* next) const {
    const int64_t tiles_down = (i2 - i1 - 1) / kernel.mr + 1, step = (kernel.nr - 1) / tiles_down + 1;
    const int64_t line = 64 / int64_t{sizeof(In)}, lines = (block.k - 1) / line + 1;
    const int64_t tiles_across = (j2 - j1 - 1) / kernel.nr + 1, share = (lines - 1) / tiles_across + 1;
    const TileSums first_sums = sums_of(block, i1, j1);
    alignas(64) Sum own[largest_tile];
    for (int64_t i = i1; i < i2; i += kernel.mr) {
      const Span k = span(block, i);
      GemmTile<T> t = row_of_tiles(block, from, i, k);
      t.prefetch.b_step = unit<In> * step;
      // with fewer tiles there is no time to prefetch A
      const bool prefetches_a = tiles_across >= 4 && i + kernel.mr < std::min(i2, from.direct);
      for (int64_t j = j1; j < j2 && !(g.c_lower && block.j0 + j >= block.i0 + i + kernel.mr); j += kernel.nr) {
        point_to_b(t, block, from, i, j, k.begin);
        t.columns = std::min(kernel.nr, block.columns - j);
        t.prefetch.b = next + (j - j1 + (i - i1) / kernel.mr * step) * block.depth();
        const int64_t first = (j - j1) / kernel.nr * share;
        t.prefetch.a_lines = prefetches_a ? std::clamp<int64_t>(lines - first, 0, share) : 0;
        t.prefetch.a = t.prefetch.a_lines > 0 ? from.a.data + (i + kernel.mr) * from.a.row + first * line : nullptr;
        const int64_t next_i = j + kernel.nr < j2 ? i : i + kernel.mr, next_j = j + kernel.nr < j2 ? j + kernel.nr : j1;
        t.prefetch.sums = first_sums.data && next_i < i2 ? first_sums.at(next_i - i1, next_j - j1) : nullptr;
        t.sums = first_sums.data ? first_sums.at(i - i1, j - j1) : own;
        t.sums_row = first_sums.data ? first_sums.row : kernel.nr;
        write_tile(t, block, i, j);
      }
    }
  }

  // The memory that holds the sums of a tile: C, if C holds its sums and has contiguous rows, or the block's `partial`.
  // Null if the tile needs a buffer for its sums.
  struct TileSums {
    Sum* data;
    int64_t row;
    Sum* at(int64_t i, int64_t j) const { return data + i * row + j; }
  };
  TileSums sums_of(const Block& block, int64_t i, int64_t j) const {
    if constexpr (holds_sums<T>) {
      if (g.c.column == 1) return {c + (block.i0 + i) * g.c.row + block.j0 + j, g.c.row};
    } else if (block.partial) {
      return {block.partial + i * super_n() + j, super_n()};
    }
    return {nullptr, 0};
  }

  // The range begin … end - 1 of indices of k, counted from the start of the block, that the row of tiles at row i
  // multiplies. It leaves out zeros of a triangle.
  struct Span {
    int64_t begin, end;
  };
  Span span(const Block& block, int64_t i) const {
    const int64_t diagonal = block.i0 + i - block.k0;
    if (g.a_triangle == Triangle::lower) return {0, std::clamp<int64_t>(diagonal + kernel.mr, 0, block.k)};
    if (g.a_triangle == Triangle::upper) return {std::clamp<int64_t>(diagonal, 0, block.k), block.k};
    return {0, block.k};
  }

  // Returns a GemmTile with those fields set that are the same for all tiles in the row of tiles at row i of the block.
  GemmTile<T> row_of_tiles(const Block& block, const Operands<T>& from, int64_t i, const Span& k) const {
    const bool direct = i < from.direct;
    GemmTile<T> t{};
    t.k = padded<In>(k.end - k.begin) / unit<In>;
    const int64_t interleaved = direct ? 1 : kernel.mr;  // number of rows that are interleaved unit by unit
    t.a_row = direct ? from.a.row : unit<In>;
    t.a_column = unit<In> * interleaved;
    t.a = (direct ? from.a.data + i * from.a.row : from.a_panels + (i - from.direct) * block.depth()) +
          k.begin * interleaved;
    t.rows = std::min(kernel.mr, block.rows - i);
    t.c_row = g.c.row;
    t.accumulate = !block.first || (holds_sums<T> && g.accumulate);
    t.add_to_c = !holds_sums<T> && g.accumulate;
    return t;
  }

  // Sets the B of the tile in row i and column j, starting at element k of the block.
  void point_to_b(GemmTile<T>& t, const Block& block, const Operands<T>& from, int64_t i, int64_t j, int64_t k) const {
    if (i == 0 && j < from.unpacked) {
      t.b = from.b + j;
      t.b_row = g.b.row;
      t.packs = from.packs + j * block.depth();
    } else {
      t.b = from.b_panels + j * block.depth() + k * kernel.nr;
      t.packs = nullptr;
    }
  }

  // Computes the tile t and writes C's tile from its sums.
  void write_tile(GemmTile<T>& t, const Block& block, int64_t i, int64_t j) const {
    const bool rows = g.c.column == 1;
    Out* to = c + (block.i0 + i) * g.c.row + (block.j0 + j) * g.c.column;
    t.c = to;
    if constexpr (holds_sums<T>) {
      if (!rows && t.accumulate) read_sums(t.sums, t.sums_row, to, t.rows, t.columns);
    }
    if (rows && block.last && (!holds_sums<T> || has_epilogue(g.epilogue))) {
      const GemmEpilogue<T> epilogue = shifted(g.epilogue, block.i0 + i, block.j0 + j);
      t.epilogue = &epilogue;
      kernel.tile(t);
      t.epilogue = nullptr;
    } else {
      kernel.tile(t);
    }
    if (!rows && (holds_sums<T> || block.last)) write(t.sums, t.sums_row, to, t.rows, t.columns, t.add_to_c);
  }

  // Copies the previous elements of C, whose rows are not contiguous, to `sums`.
  void read_sums(Sum* sums, int64_t sums_row, const Out* from, int64_t rows, int64_t columns) const {
    for (int64_t p = 0; p < rows; ++p)
      for (int64_t q = 0; q < columns; ++q)
        sums[p * sums_row + q] = static_cast<Sum>(from[p * g.c.row + q * g.c.column]);
  }

  // Writes the sums to C, whose rows are not contiguous.
  void write(const Sum* sums, int64_t sums_row, Out* to, int64_t rows, int64_t columns, bool add) const {
    for (int64_t p = 0; p < rows; ++p)
      for (int64_t q = 0; q < columns; ++q) {
        Out& y = to[p * g.c.row + q * g.c.column];
        const Sum sum = sums[p * sums_row + q];
        y = Out(add ? static_cast<Sum>(y) + sum : sum);
      }
  }

  // Whether B is read in place, because packing it would cost more than it saves.
  bool few() const {
    if (g.sign != 1) return false;
    if (g.m <= unpacked_rows) return contiguous_k() || contiguous_n();
    return g.m <= unpacked_dot_rows && g.k >= long_dot && contiguous_k();
  }

  // Computes `columns` columns of C, starting at j, which is the first column of a panel. If C doesn't hold its sums,
  // `sums` has space for them.
  void few_rows_product(int64_t j, int64_t columns, [[maybe_unused]] Sum* sums) const {
    const GemmEpilogue<T> epilogue = shifted(g.epilogue, int64_t{0}, j);
    Out* to = c + j * g.c.column;
    if constexpr (holds_sums<T>) {
      few_rows_sums(j, columns, {to, g.c.row, g.c.column}, g.accumulate);
      if (has_epilogue(g.epilogue)) kernel.epilogue(epilogue, g.m, columns, to, g.c.row, to, g.c.row, false);
    } else {
      few_rows_sums(j, columns, {sums, columns, 1}, false);
      if (g.c.column == 1) kernel.epilogue(epilogue, g.m, columns, sums, columns, to, g.c.row, g.accumulate);
      else write(sums, columns, to, g.m, columns, g.accumulate);
    }
  }

  void few_rows_sums(int64_t j, int64_t columns, MatrixView<Sum> to, bool add) const {
    const In* from = b + j * g.b.column;
    if (contiguous_n() && !(contiguous_k() && (g.k > g.n || g.m > unpacked_rows))) {
      kernel.rows(g.m, columns, g.k, a, g.a.row, g.a.column, from, g.b.row, to.data, to.row, add);
    } else if (g.packed_b && to.column == 1) {
      kernel.dot_panels(g.m, columns, g.k, a, g.a.row, g.packed_b, layout_of(kernel, g.k, g.n), j, to.data, to.row,
                        add);
    } else {
      kernel.dot(g.m, columns, g.k, a, g.a.row, from, g.b.column, to.data, to.row, to.column, add);
    }
  }

  void run_few() const {
    const int64_t columns = rounded_up(std::max<int64_t>(1, task_work / std::max<int64_t>(1, g.m * g.k)), kernel.nr);
    const int64_t room = holds_sums<T> ? 0 : g.m * std::min(columns, g.n);
    Context::current().parallel_for(g.n, columns, static_cast<std::size_t>(room) * sizeof(Sum),
                                    [&](int64_t begin, int64_t end, void* scratch) {
                                      few_rows_product(begin, end - begin, static_cast<Sum*>(scratch));
                                    });
  }
};

}  // namespace weft::detail
