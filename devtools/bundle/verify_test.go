package bundle_test

import (
	"archive/zip"
	"context"
	"io"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo"
	"github.com/etgo-ml/etgo/devtools/bundle"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/schema/bundled"
	"github.com/etgo-ml/etgo/tensor"
)

// golden returns a file of the golden cases.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	z, err := zip.OpenReader("../../testdata/golden/ops.zip")
	require.NoError(t, err)
	defer z.Close()
	for _, f := range z.File {
		if path.Base(f.Name) == name {
			r, err := f.Open()
			require.NoError(t, err)
			b, err := io.ReadAll(r)
			require.NoError(t, err)
			return b
		}
	}
	require.Fail(t, "no such file", name)
	return nil
}

// open decodes a bundle after a change and makes a module of its program.
func open(t *testing.T, file []byte, change func(*bundled.File)) (*bundle.Bundle, *module.Module) {
	t.Helper()
	f, err := bundled.Decode(file)
	require.NoError(t, err)
	change(f)
	file, err = bundled.Encode(f)
	require.NoError(t, err)
	b, err := bundle.Decode(file)
	require.NoError(t, err)
	m, err := etgo.New(b.Program(), module.WithThreads(1))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return b, m
}

func TestBundle(t *testing.T) {
	file := golden(t, "prog_out_prims.bpte")
	require.True(t, bundle.Is(file))
	b, m := open(t, file, func(*bundled.File) {})
	require.False(t, bundle.Is(b.Program()))
	require.Equal(t, []bundle.Suite{{Method: "forward", TestSets: 1}}, b.Suites())
	inputs, err := b.Inputs("forward", 0)
	require.NoError(t, err)
	want, err := b.Expected("forward", 0)
	require.NoError(t, err)
	got, err := m.Execute(context.Background(), "forward", inputs...)
	require.NoError(t, err)
	require.Len(t, got, 5)
	require.Len(t, want, 5)
	require.Equal(t, runtime.KindNone, want[4].Kind())
	for i := range got {
		d := bundle.Compare(got[i], want[i], bundle.Tolerance{Exact: true})
		require.True(t, d.OK(), &d)
	}

	_, err = b.Inputs("forward", 1)
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	_, err = b.Expected("backward", 0)
	require.ErrorIs(t, err, runtime.ErrMethodNotFound)
	_, err = bundle.Decode(b.Program())
	require.Error(t, err)
}

// The test sets of a method share its state.
func TestVerify(t *testing.T) {
	file := golden(t, "prog_state_multi_method.bpte")
	ctx := context.Background()
	opts := bundle.Options{Tolerance: bundle.DefaultTolerance}
	b, m := open(t, file, func(*bundled.File) {})
	results, err := bundle.Verify(ctx, m, b, opts)
	require.NoError(t, err)
	require.Len(t, results, 4)
	for i, r := range results {
		require.True(t, r.OK(), r.Outputs)
		require.Equal(t, i%2, r.TestSet)
	}
	// A second time the state is another.
	results, err = bundle.Verify(ctx, m, b, opts)
	require.NoError(t, err)
	require.False(t, results[0].OK())
	require.NoError(t, m.Reset())

	opts.Method, opts.Only, opts.TestSet = "two", true, 1
	results, err = bundle.Verify(ctx, m, b, opts)
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.True(t, results[0].OK())
	require.Equal(t, "two", results[0].Method)
	opts.TestSet = 2
	_, err = bundle.Verify(ctx, m, b, opts)
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	opts.Method, opts.TestSet = "three", 0
	_, err = bundle.Verify(ctx, m, b, opts)
	require.ErrorIs(t, err, runtime.ErrMethodNotFound)
}

func TestVerifyFailures(t *testing.T) {
	file := golden(t, "prog_out_prims.bpte")
	first := func(change func(*bundled.Case)) bundle.Result {
		b, m := open(t, file, func(f *bundled.File) { change(&f.Suites[0].Cases[0]) })
		results, err := bundle.Verify(context.Background(), m, b, bundle.Options{})
		require.NoError(t, err)
		require.Len(t, results, 1)
		require.False(t, results[0].OK())
		return results[0]
	}
	r := first(func(c *bundled.Case) { c.Outputs[1].Int++ })
	require.NoError(t, r.Err)
	require.True(t, r.Outputs[0].OK())
	require.False(t, r.Outputs[1].OK())
	r = first(func(c *bundled.Case) { c.Outputs[2] = bundled.Value{Kind: bundled.KindInt, Int: 2} })
	require.Contains(t, r.Outputs[2].Problem, "got float, want int")
	r = first(func(c *bundled.Case) { c.Outputs = c.Outputs[:4] })
	require.ErrorIs(t, r.Err, runtime.ErrInvalidArgument)
	r = first(func(c *bundled.Case) { c.Outputs = nil })
	require.ErrorIs(t, r.Err, runtime.ErrNotSupported)
	r = first(func(c *bundled.Case) { c.Inputs = nil })
	require.ErrorIs(t, r.Err, runtime.ErrInvalidArgument)

	b, m := open(t, file, func(*bundled.File) {})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := bundle.Verify(ctx, m, b, bundle.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// Expected tensors may be in another layout than the outputs.
func TestVerifyLayout(t *testing.T) {
	b, m := open(t, golden(t, "add__channels_last.bpte"), func(f *bundled.File) {
		out := &f.Suites[0].Cases[0].Outputs[0].Tensor
		x, err := tensor.FromBytes(tensor.DType(out.Type), out.Data, tensor.IntShape(out.Sizes), tensor.WithDimOrder(out.DimOrder))
		require.NoError(t, err)
		require.False(t, x.IsContiguous())
		x = x.Contiguous()
		out.Data, out.DimOrder = x.Bytes(), x.DimOrder()
	})
	results, err := bundle.Verify(context.Background(), m, b, bundle.Options{})
	require.NoError(t, err)
	require.True(t, results[0].OK(), results[0].Outputs)
}
