package llm

import (
	"math"
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/kernels/internal/kit/mathf"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// CustomSDPA is llama::custom_sdpa: attention of query [B, S, H, D] to key and
// value caches [B, max S, Hkv, D], the softmax of scale * query key^T + attn_mask
// times value. scale is 1 / sqrt(D) if not given. H is a multiple of Hkv and each
// key head serves as many query heads in a row.
//
// Without a mask only the first start_pos + S positions of the caches take part,
// and with is_causal row r of the query sees start_pos + r + 1 of them. With
// attn_mask, float32 [S, max S], all positions do; is_causal must not be set then
// and start_pos has no meaning. A row in which all is masked by -inf gives NaN.
// Dropout is ignored.
//
// It takes float32, float16 and bfloat16, one for all three, and computes in
// float32; the output is of any floating-point type.
var CustomSDPA = runtime.Kernels{
	{
		Schema: "llama::custom_sdpa.out(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    customSDPAOut,
	},
}

// CustomQuantizedSDPA is llama::custom_quantized_sdpa: as CustomSDPA, and of int8
// with float32 scales and int8 zero points for each position and head: [B, S, H,
// 1] for the query and [B, max S, Hkv, 1] for the caches. With is_seq_at_dim_2 all
// have the sequence behind the heads: [B, H, S, D].
var CustomQuantizedSDPA = runtime.Kernels{
	{
		Schema: "llama::custom_quantized_sdpa.out(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None, Tensor? q_zero_points=None, Tensor? q_scales=None, Tensor? k_zero_points=None, Tensor? k_scales=None, Tensor? v_zero_points=None, Tensor? v_scales=None, bool is_seq_at_dim_2=False, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    customQuantizedSDPAOut,
	},
}

// SDPAWithKVCache is llama::sdpa_with_kv_cache: it copies key and value into their
// caches from position start_pos on, and computes CustomSDPA with these. seq_len
// is the size S of the sequence.
var SDPAWithKVCache = runtime.Kernels{
	{
		Schema: "llama::sdpa_with_kv_cache.out(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, SymInt start_pos, SymInt seq_len, Tensor? attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None, *, Tensor(c!) out) -> Tensor(c!)",
		Run:    sdpaWithKVCacheOut,
		Impure: true,
	},
}

func customSDPAOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	t := runtime.State[attention](ctx)
	if err := t.setTensors(args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(8), 1); err != nil {
		return err
	}
	if err := t.setMask(args.Tensor(4), args.Int(3), args.Bool(6)); err != nil {
		return err
	}
	t.setScale(args.OptFloat(7))
	return t.do(ctx)
}

func customQuantizedSDPAOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	t := runtime.State[attention](ctx)
	seq := 1
	if args.Bool(14) {
		seq = 2
	}
	if err := t.setTensors(args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(15), seq); err != nil {
		return err
	}
	for i, r := range [...]*rows{&t.query, &t.key, &t.value} {
		if err := r.setParams(args.Tensor(8+2*i), args.Tensor(9+2*i)); err != nil {
			return err
		}
	}
	if err := t.setMask(args.Tensor(4), args.Int(3), args.Bool(6)); err != nil {
		return err
	}
	t.setScale(args.OptFloat(7))
	return t.do(ctx)
}

// sdpaCacheState is the state of a call that updates its caches.
type sdpaCacheState struct {
	attention attention
	copy      kit.Copy
}

func sdpaWithKVCacheOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	key, value, keyCache, valueCache, start := args.Tensor(1), args.Tensor(2), args.Tensor(3), args.Tensor(4), args.Int(5)
	if err := checkCacheUpdate("key", key, keyCache, start); err != nil {
		return err
	}
	if err := checkCacheUpdate("value", value, valueCache, start); err != nil {
		return err
	}
	if n, size := args.Int(6), min(keyCache.Size(1), valueCache.Size(1)); n < 0 || n > size-start {
		return errs.InvalidArgument.Errorf("seq_len %d at %d does not fit into a cache of %d", n, start, size)
	}
	s := runtime.State[sdpaCacheState](ctx)
	t := &s.attention
	if err := t.setTensors(args.Tensor(0), keyCache, valueCache, args.Tensor(11), 1); err != nil {
		return err
	}
	if err := t.setMask(args.Tensor(7), start, args.Bool(9)); err != nil {
		return err
	}
	t.setScale(args.OptFloat(10))
	if err := updateCache(ctx, &s.copy, key, keyCache, start); err != nil {
		return err
	}
	if err := updateCache(ctx, &s.copy, value, valueCache, start); err != nil {
		return err
	}
	return t.do(ctx)
}

// rows gives the lines along the head dimension of query, key or value in
// float32.
type rows struct {
	t                *tensor.Tensor
	batch, head, seq int // strides
	step             int // between the elements of a row

	direct []float32 // t's elements, where its rows can be used as they are

	// The parameters of int8.
	scales                    []float32
	zeros                     []int8
	scaleStrides, zeroStrides [3]int // of batch, head and sequence
	seqDim                    int
}

func (r *rows) set(t *tensor.Tensor, seq int) {
	*r = rows{t: t, seqDim: seq}
	s := t.Strides()
	r.batch, r.head, r.seq, r.step = s[0], s[3-seq], s[seq], s[3]
	if r.step == 1 || t.Size(3) == 1 {
		r.direct = tensor.Raw[float32](t)
	}
}

// setParams sets the scales and zero points of an int8 tensor; others have none.
func (r *rows) setParams(zeros, scales *tensor.Tensor) error {
	if r.t.DType() != tensor.I8 {
		return nil
	}
	if zeros == nil || scales == nil {
		return errs.InvalidArgument.Errorf("sdpa: int8 needs scales and zero points for query, key and value")
	}
	if scales.DType() != tensor.F32 || zeros.DType() != tensor.I8 {
		return errs.InvalidArgument.Errorf("sdpa: scales are %v and zero points %v, want float32 and int8", scales.DType(), zeros.DType())
	}
	for _, p := range [...]*tensor.Tensor{scales, zeros} {
		if p.Rank() != 4 || !slices.Equal(p.Shape()[:3], r.t.Shape()[:3]) || p.Size(3) == 0 {
			return errs.InvalidArgument.Errorf("sdpa: scales or zero points are %v, want one for each row of %v", p, r.t)
		}
	}
	r.scales, r.zeros = tensor.Raw[float32](scales), tensor.Raw[int8](zeros)
	s, z := scales.Strides(), zeros.Strides()
	r.scaleStrides = [3]int{s[0], s[3-r.seqDim], s[r.seqDim]}
	r.zeroStrides = [3]int{z[0], z[3-r.seqDim], z[r.seqDim]}
	return nil
}

// at returns n rows, pos the first of them, and how far apart they are: where
// they have to be converted, side by side in buf.
func (r *rows) at(batch, head, pos, n int, buf []float32) ([]float32, int) {
	off := batch*r.batch + head*r.head + pos*r.seq
	if r.direct != nil {
		return r.direct[off:], r.seq
	}
	dim := r.t.Size(3)
	for i := range n {
		row := buf[i*dim:][:dim]
		kit.LoadStrided(row, r.t, off+i*r.seq, r.step)
		if r.scales != nil {
			r.dequantize(row, batch, head, pos+i)
		}
	}
	return buf, dim
}

func (r *rows) dequantize(row []float32, batch, head, pos int) {
	s, z := &r.scaleStrides, &r.zeroStrides
	scale := r.scales[batch*s[0]+head*s[1]+pos*s[2]]
	zero := float32(r.zeros[batch*z[0]+head*z[1]+pos*z[2]])
	for i, v := range row {
		row[i] = (v - zero) * scale
	}
}

// attention computes flash attention: a block of rows of the query goes through
// the keys a block at a time and keeps the maximum, the sum and the weighted
// values of what it has seen.
type attention struct {
	query, key, value rows
	out               *tensor.Tensor
	seqDim            int

	batches, heads, keyHeads int
	group                    int // query heads that share a key head
	size                     int // of the query's sequence
	dim                      int // of a head

	keys    int  // how many positions of the caches take part
	start   int  // position of the query's first row
	causal  bool // row r sees start + r + 1 keys
	mask    []float32
	maskRow int // stride
	maskCol int
	scale   float32

	rows                 kit.Rows
	queryBlock, keyBlock int
	queryBlocks          int // of a key head
	slab                 int // scratch of a worker
	scratch              []float32
}

// maxQueryBlock and maxKeyBlock bound the blocks, so that one's scores stay in
// the first cache.
const (
	maxQueryBlock = 32
	maxKeyBlock   = 128
)

// attentionGrain is how many products are worth a goroutine.
const attentionGrain = 1 << 14

// setTensors checks the tensors, of which dimension seq is the sequence.
func (t *attention) setTensors(query, key, value, out *tensor.Tensor, seq int) error {
	if query.Rank() != 4 || key.Rank() != 4 || value.Rank() != 4 {
		return errs.InvalidArgument.Errorf("sdpa: query is %v, key %v, value %v, want four dimensions each", query, key, value)
	}
	switch query.DType() {
	case tensor.F32, tensor.F16, tensor.BF16, tensor.I8:
	default:
		return kit.Unsupported("sdpa", query)
	}
	if key.DType() != query.DType() || value.DType() != query.DType() {
		return errs.InvalidArgument.Errorf("sdpa: query is %v, key %v, value %v, want one type", query.DType(), key.DType(), value.DType())
	}
	if !out.DType().IsFloat() {
		return errs.InvalidArgument.Errorf("sdpa: output is %v, want a floating-point type", out.DType())
	}
	if !slices.Equal(key.Shape(), value.Shape()) || key.Size(0) != query.Size(0) || key.Size(3) != query.Size(3) {
		return errs.InvalidArgument.Errorf("sdpa: query is %v, key %v, value %v: want the same batch and head sizes", query, key, value)
	}
	t.seqDim, t.out = seq, out
	t.batches, t.heads, t.size, t.dim = query.Size(0), query.Size(3-seq), query.Size(seq), query.Size(3)
	t.keyHeads, t.keys = key.Size(3-seq), key.Size(seq)
	if t.keyHeads == 0 || t.heads%t.keyHeads != 0 {
		return errs.InvalidArgument.Errorf("sdpa: %d query heads are no multiple of %d key heads", t.heads, t.keyHeads)
	}
	t.group = t.heads / t.keyHeads
	t.query.set(query, seq)
	t.key.set(key, seq)
	t.value.set(value, seq)
	return nil
}

// setMask sets which keys take part.
func (t *attention) setMask(mask *tensor.Tensor, start int, causal bool) error {
	t.start, t.causal, t.mask = start, causal, nil
	if mask == nil {
		n := t.size
		if t.seqDim == 2 && t.query.t.DType() != tensor.I8 {
			// ExecuTorch counts dimension 1 unless the query is quantized.
			n = t.heads
		}
		if start < 0 || start > t.keys || n > t.keys-start {
			return errs.InvalidArgument.Errorf("sdpa: %d positions at %d exceed the cache of %d", n, start, t.keys)
		}
		t.keys = start + n
		return nil
	}
	if causal {
		return errs.InvalidArgument.Errorf("sdpa: attn_mask and is_causal exclude each other")
	}
	if mask.DType() != tensor.F32 || mask.Rank() != 2 || mask.Size(0) != t.size || mask.Size(1) != t.keys {
		return errs.InvalidArgument.Errorf("sdpa: attn_mask is %v, want float32[%d,%d]", mask, t.size, t.keys)
	}
	t.mask = tensor.Raw[float32](mask)
	t.maskRow, t.maskCol = mask.Strides()[0], mask.Strides()[1]
	return nil
}

func (t *attention) setScale(scale float64, given bool) {
	if !given {
		scale = 1 / math.Sqrt(float64(t.dim))
	}
	t.scale = float32(scale)
}

// do computes the attention. All scratch is one block of the allocator, a slab
// for each worker.
func (t *attention) do(ctx *runtime.KernelRuntimeContext) error {
	if t.query.t.DType() == tensor.I8 && (t.query.scales == nil || t.key.scales == nil || t.value.scales == nil) {
		return errs.InvalidArgument.Errorf("sdpa: int8 needs scales and zero points for query, key and value")
	}
	if err := kit.Resize(t.out, t.query.t.Shape()); err != nil {
		return err
	}
	if t.out.Numel() == 0 {
		return nil
	}
	t.keyBlock = min(maxKeyBlock, t.keys)
	t.chooseQueryBlock(ctx.Threads())
	t.slab = t.queryBlock * (2*t.dim + t.keyBlock + 2)
	if t.key.direct == nil || t.value.direct == nil {
		t.slab += t.keyBlock * t.dim
	}
	t.slab = (t.slab + 15) &^ 15 // whole cache lines
	scratch, err := runtime.Temp[float32](ctx, t.slab*ctx.Threads())
	if err != nil {
		return err
	}
	t.scratch = scratch
	t.rows = kit.NewRows()
	work := t.queryBlock * t.dim * max(1, t.keys)
	ctx.Parallel(t.batches*t.keyHeads*t.queryBlocks, 1+attentionGrain/work, t)
	return nil
}

// chooseQueryBlock makes blocks as large as may be, so that a key is read, and
// converted, for many rows, yet no fewer than there are threads. A row's result
// does not depend on it.
func (t *attention) chooseQueryBlock(threads int) {
	rows := t.size * t.group
	t.queryBlock = min(maxQueryBlock, rows)
	for {
		t.queryBlocks = (rows + t.queryBlock - 1) / t.queryBlock
		if t.queryBlock == 1 || t.batches*t.keyHeads*t.queryBlocks >= threads {
			return
		}
		t.queryBlock = (t.queryBlock + 1) / 2
	}
}

// block is a block of the query's rows on its way through the keys: rows first to
// first + n of those that a key head serves. They are numbered by position and
// then by head.
type block struct {
	batch, keyHead int
	first, n       int

	query  []float32 // [n, dim], times the scale
	scores []float32 // [n, keyBlock]
	top    []float32 // by row: the greatest score so far
	sum    []float32 // by row: the sum of exp(score - top)
	acc    []float32 // [n, dim], the values times exp(score - top)
	rows   []float32 // [keyBlock, dim], keys or values where these are converted
}

// carve makes b use a worker's slab.
func (t *attention) carve(b *block, slab []float32) {
	take := func(n int) []float32 {
		s := slab[:n:n]
		slab = slab[n:]
		return s
	}
	b.query = take(t.queryBlock * t.dim)
	b.acc = take(t.queryBlock * t.dim)
	b.scores = take(t.queryBlock * t.keyBlock)
	b.top, b.sum = take(t.queryBlock), take(t.queryBlock)
	if t.key.direct == nil || t.value.direct == nil {
		b.rows = take(t.keyBlock * t.dim)
	}
}

// Run computes the blocks lo to hi, numbered by batch, key head and rows.
func (t *attention) Run(worker, lo, hi int) {
	var b block
	t.carve(&b, t.scratch[worker*t.slab:][:t.slab])
	for ; lo < hi; lo++ {
		head := lo / t.queryBlocks
		b.batch, b.keyHead = head/t.keyHeads, head%t.keyHeads
		b.first = lo % t.queryBlocks * t.queryBlock
		b.n = min(t.queryBlock, t.size*t.group-b.first)
		t.begin(&b)
		keys := t.visible(&b, b.n-1)
		for key := 0; key < keys; key += t.keyBlock {
			n := min(t.keyBlock, keys-key)
			t.score(&b, key, n)
			t.softmax(&b, key, n)
			t.weigh(&b, key, n)
		}
		t.store(&b)
	}
}

// place returns the head and the position of row r of b.
func (t *attention) place(b *block, r int) (head, pos int) {
	i := b.first + r
	return b.keyHead*t.group + i%t.group, i / t.group
}

// visible returns how many keys row r of b sees, from the first on.
func (t *attention) visible(b *block, r int) int {
	if t.causal {
		_, pos := t.place(b, r)
		return min(t.keys, t.start+pos+1)
	}
	return t.keys
}

// scoresOf returns row r's scores of those of n keys, from key on, that it sees.
func (t *attention) scoresOf(b *block, r, key, n int) []float32 {
	return b.scores[r*t.keyBlock:][:max(0, min(n, t.visible(b, r)-key))]
}

func (t *attention) begin(b *block) {
	for r := range b.n {
		q := b.query[r*t.dim:][:t.dim]
		head, pos := t.place(b, r)
		row, _ := t.query.at(b.batch, head, pos, 1, q)
		for i, v := range row[:t.dim] {
			q[i] = v * t.scale
		}
		b.top[r], b.sum[r] = float32(math.Inf(-1)), 0
	}
	clear(b.acc[:b.n*t.dim])
}

// score sets the scores of n keys, from key on, for the rows that see them.
func (t *attention) score(b *block, key, n int) {
	keys, pitch := t.key.at(b.batch, b.keyHead, key, n, b.rows)
	for r := range b.n {
		s := t.scoresOf(b, r, key, n)
		t.rows.Dots(s, b.query[r*t.dim:][:t.dim], keys, pitch)
		if t.mask != nil {
			_, pos := t.place(b, r)
			m := t.mask[pos*t.maskRow+key*t.maskCol:]
			for j := range s {
				s[j] += m[j*t.maskCol]
			}
		}
	}
}

// softmax replaces the scores of a block of keys by their weights, and brings what
// came before to the new maximum.
func (t *attention) softmax(b *block, key, n int) {
	for r := range b.n {
		s := t.scoresOf(b, r, key, n)
		if len(s) == 0 {
			continue
		}
		top := b.top[r]
		for _, v := range s {
			top = max(top, v) // NaN stays
		}
		if math.IsInf(float64(top), -1) {
			clear(s) // -inf minus -inf is NaN; a later key may be visible yet
			continue
		}
		for i := range s {
			s[i] -= top
		}
		mathf.Exp(s, s)
		var sum float32
		for _, v := range s {
			sum += v
		}
		shrink := float32(math.Exp(float64(b.top[r] - top)))
		b.sum[r] = b.sum[r]*shrink + sum
		b.top[r] = top
		if key > 0 {
			acc := b.acc[r*t.dim:][:t.dim]
			for i := range acc {
				acc[i] *= shrink
			}
		}
	}
}

// weigh adds the values of a block of keys, weighted.
func (t *attention) weigh(b *block, key, n int) {
	values, pitch := t.value.at(b.batch, b.keyHead, key, n, b.rows)
	for r := range b.n {
		t.rows.Add(b.acc[r*t.dim:][:t.dim], t.scoresOf(b, r, key, n), values, pitch)
	}
}

// store divides by the sums and stores the rows. A row that saw nothing has the
// sum 0 and becomes NaN.
func (t *attention) store(b *block) {
	s := t.out.Strides()
	for r := range b.n {
		head, pos := t.place(b, r)
		acc := b.acc[r*t.dim:][:t.dim]
		inv := 1 / b.sum[r]
		for i := range acc {
			acc[i] *= inv
		}
		kit.StoreStrided(t.out, b.batch*s[0]+head*s[3-t.seqDim]+pos*s[t.seqDim], s[3], acc)
	}
}
