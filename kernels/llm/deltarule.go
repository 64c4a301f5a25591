package llm

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// GatedDeltaRule is llama::gated_delta_rule and its older name
// channelwise_gated_delta_rule: linear attention with a state S [K, V] for each key
// head, updated token by token:
//
//	S = diag(decay) S
//	S = S + key (beta * (value - key S))
//	out = query S
//
// query is [B, H, T, K], key [B, Hkv, T, K] and value [B, Hkv, T, V], where H is a
// multiple of Hkv and each key head serves as many query heads in a row; decay is
// [B, Hkv, T, K] or, for all channels, [B, Hkv, T]; beta [B, Hkv, T]; the initial
// and the final state [B, Hkv, K, V]; out [B, H, T, V]. It takes float32, float16
// and bfloat16 and computes in float32.
var GatedDeltaRule = runtime.Kernels{
	{
		Schema: "llama::gated_delta_rule.out(Tensor query, Tensor key, Tensor value, Tensor decay, Tensor beta, Tensor initial_state, *, Tensor(a!) out, Tensor(b!) final_state_out) -> (Tensor(a!), Tensor(b!))",
		Run:    gatedDeltaRuleOut,
	},
	{
		Schema: "llama::channelwise_gated_delta_rule.out(Tensor query, Tensor key, Tensor value, Tensor decay, Tensor beta, Tensor initial_state, *, Tensor(a!) out, Tensor(b!) final_state_out) -> (Tensor(a!), Tensor(b!))",
		Run:    gatedDeltaRuleOut,
	},
}

// deltaRuleTask runs through the tokens for key heads, each with its state. All
// operands are in row-major order.
type deltaRuleTask struct {
	query, key, value, decay, beta, initial []float32
	out, state                              []float32

	tokens, k, v int
	group        int // query heads that share a key head
	decays       int // of a token: k or 1

	rows    kit.Rows
	scratch []float32 // k + v numbers for each worker
}

// deltaRuleGrain is how many elements of states, times tokens, are worth a
// goroutine.
const deltaRuleGrain = 1 << 14

func gatedDeltaRuleOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	if err := checkDeltaRule(args); err != nil {
		return err
	}
	query, key, value, initial, out, final := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(5), args.Tensor(6), args.Tensor(7)
	heads := key.Size(0) * key.Size(1)
	if err := kit.Resize(out, []int{query.Size(0), query.Size(1), query.Size(2), value.Size(3)}); err != nil {
		return err
	}
	if err := kit.Resize(final, initial.Shape()); err != nil {
		return err
	}
	t := runtime.State[deltaRuleTask](ctx)
	t.tokens, t.k, t.v = query.Size(2), query.Size(3), value.Size(3)
	t.group = query.Size(1) / key.Size(1)
	t.decays = 1
	if args.Tensor(3).Rank() == 4 {
		t.decays = t.k
	}
	if heads*t.v == 0 {
		return nil
	}
	var err error
	for i, s := range [...]*[]float32{&t.query, &t.key, &t.value, &t.decay, &t.beta, &t.initial} {
		if *s, err = kit.Dense[float32](ctx, args.Tensor(i)); err != nil {
			return err
		}
	}
	ownOut, ownState := false, false
	if t.out, ownOut, err = kit.DenseTarget[float32](ctx, out); err != nil {
		return err
	}
	if t.state, ownState, err = kit.DenseTarget[float32](ctx, final); err != nil {
		return err
	}
	if t.scratch, err = runtime.Temp[float32](ctx, ctx.Threads()*(t.k+t.v)); err != nil {
		return err
	}
	t.rows = kit.NewRows()
	ctx.Parallel(heads, 1+deltaRuleGrain/max(1, t.tokens*t.k*t.v), t)
	if !ownOut {
		storeDense(out, t.out)
	}
	if !ownState {
		storeDense(final, t.state)
	}
	return nil
}

func storeDense(t *tensor.Tensor, s []float32) {
	var r kit.RowMajor
	r.Begin(t)
	kit.StoreRowMajor(&r, 0, s)
}

func checkDeltaRule(args runtime.Args) error {
	query, key, value, decay, beta, initial := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(3), args.Tensor(4), args.Tensor(5)
	for i := range 8 {
		if t := args.Tensor(i); t.DType() != tensor.F32 && !t.DType().IsReducedFloat() {
			return kit.Unsupported("gated_delta_rule", t)
		}
	}
	if query.Rank() != 4 || key.Rank() != 4 || value.Rank() != 4 || beta.Rank() != 3 || initial.Rank() != 4 ||
		decay.Rank() != 3 && decay.Rank() != 4 {
		return errs.InvalidArgument.Errorf("gated_delta_rule: query %v, key %v, value %v, decay %v, beta %v, state %v: want 4, 4, 4, 3 or 4, 3 and 4 dimensions", query, key, value, decay, beta, initial)
	}
	sameHeads := func(t *tensor.Tensor) bool {
		return t.Size(0) == key.Size(0) && t.Size(1) == key.Size(1) && t.Size(2) == key.Size(2)
	}
	switch {
	case query.Size(0) != key.Size(0) || query.Size(2) != key.Size(2) || query.Size(3) != key.Size(3):
		return errs.InvalidArgument.Errorf("gated_delta_rule: query is %v, key %v", query, key)
	case !sameHeads(value):
		return errs.InvalidArgument.Errorf("gated_delta_rule: value is %v, key %v", value, key)
	case !sameHeads(decay) || decay.Rank() == 4 && decay.Size(3) != key.Size(3):
		return errs.InvalidArgument.Errorf("gated_delta_rule: decay is %v, key %v", decay, key)
	case !sameHeads(beta):
		return errs.InvalidArgument.Errorf("gated_delta_rule: beta is %v, key %v", beta, key)
	case key.Size(1) == 0 || query.Size(1)%key.Size(1) != 0:
		return errs.InvalidArgument.Errorf("gated_delta_rule: %d query heads are no multiple of %d key heads", query.Size(1), key.Size(1))
	case initial.Size(0) != key.Size(0) || initial.Size(1) != key.Size(1) || initial.Size(2) != key.Size(3) || initial.Size(3) != value.Size(3):
		return errs.InvalidArgument.Errorf("gated_delta_rule: state is %v, key %v, value %v", initial, key, value)
	}
	return nil
}

// Run computes the key heads lo to hi, counted over all batches.
func (t *deltaRuleTask) Run(worker, lo, hi int) {
	scratch := t.scratch[worker*(t.k+t.v):][:t.k+t.v]
	size := t.k * t.v
	for head := lo; head < hi; head++ {
		state := t.state[head*size:][:size]
		copy(state, t.initial[head*size:][:size])
		for token := range t.tokens {
			t.update(state, scratch[:t.k], scratch[t.k:], head*t.tokens+token)
			for g := range t.group {
				// The query heads of a key head follow each other.
				q := (head*t.group+g)*t.tokens + token
				out := t.out[q*t.v:][:t.v]
				clear(out)
				t.rows.Add(out, t.query[q*t.k:][:t.k], state, t.v)
			}
		}
	}
}

// update takes state from one token to the next, that at position at of the key
// heads' operands. The predicted value is of the decayed state; decaying happens
// in the same pass as the update.
func (t *deltaRuleTask) update(state, decayed, delta []float32, at int) {
	key, value, decay := t.key[at*t.k:][:t.k], t.value[at*t.v:][:t.v], t.decay[at*t.decays:][:t.decays]
	for i, k := range key {
		decayed[i] = decay[i%len(decay)] * k
	}
	clear(delta)
	t.rows.Add(delta, decayed, state, t.v)
	for i, v := range value {
		delta[i] = (v - delta[i]) * t.beta[at]
	}
	for i, k := range key {
		d, row := decay[i%len(decay)], state[i*t.v:][:t.v]
		for j, v := range delta {
			row[j] = row[j]*d + k*v
		}
	}
}
