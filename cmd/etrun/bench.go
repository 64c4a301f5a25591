package main

import (
	"context"
	"fmt"
	"io"
	"math"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgo-ml/etgo/runtime"
)

type benchFlags struct {
	modelFlags
	method  string
	input   []string
	inputs  string
	seconds float64
	warmup  int
	json    bool
}

// benchResult is what bench measures. Times are in nanoseconds.
type benchResult struct {
	Method  string      `json:"method"`
	Threads int         `json:"threads"`
	Runs    int         `json:"runs"`
	Load    int64       `json:"load"`
	First   int64       `json:"first_run"`
	Latency percentiles `json:"latency"`
	// Allocations are heap allocations per run.
	Allocations float64 `json:"allocations"`
	// PlannedBytes are those of the method's arenas; PeakBytes is the process's
	// largest resident size, 0 where the system does not tell.
	PlannedBytes int64 `json:"planned_bytes"`
	PeakBytes    int64 `json:"peak_bytes"`
}

type percentiles struct {
	Min  int64 `json:"min"`
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	Max  int64 `json:"max"`
	Mean int64 `json:"mean"`
}

func newBench() *cobra.Command {
	var f benchFlags
	c := command(&cobra.Command{
		Use:   "bench MODEL",
		Short: "Measure how long a method takes",
		Long: `Bench loads a method, runs it over and over and prints how long a run takes, with
load time, heap allocations per run and peak memory.

Inputs are those of run; without any, tensors of ones. A run includes setting the
inputs and copying the outputs.`,
		Example: `  etrun bench model.pte
  etrun bench model.pte --threads 1 --seconds 5 --json
  etrun bench model.pte --inputs in.npz`,
		Args: wantArgs(1, 1, "one MODEL"),
	}, func(c *cobra.Command, args []string) error {
		if !(f.seconds >= 0 && f.seconds <= 1e6) {
			return usagef("--seconds %v: not a duration", f.seconds)
		}
		if f.warmup < 0 {
			return usagef("--warmup %d: not a number of runs", f.warmup)
		}
		if err := exclusive(c, "input", "inputs"); err != nil {
			return err
		}
		if f.inputs != "" {
			f.input = []string{f.inputs}
		}
		r, err := f.run(c.Context(), args[0])
		if err != nil {
			return err
		}
		if f.json {
			return writeJSON(c.OutOrStdout(), r)
		}
		r.print(c.OutOrStdout())
		return nil
	})
	f.modelFlags.add(c)
	c.Flags().StringVar(&f.method, "method", "", "`name` of the method; default forward, or the first")
	c.Flags().StringArrayVar(&f.input, "input", nil, "`file` (.npy or .npz) with the next inputs; may be repeated")
	c.Flags().StringVar(&f.inputs, "inputs", "", "`file` (.npz) with all inputs")
	c.Flags().Float64Var(&f.seconds, "seconds", 2, "how `long` to measure, in seconds")
	c.Flags().IntVar(&f.warmup, "warmup", 2, "`number` of runs before measuring")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON; times in nanoseconds")
	return c
}

func (f *benchFlags) run(ctx context.Context, path string) (*benchResult, error) {
	opts, err := f.options()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	m, err := openModel(path, opts...)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	method, err := pickMethod(m.MethodNames(), f.method)
	if err != nil {
		return nil, err
	}
	if err := m.Load(method); err != nil {
		return nil, err
	}
	r := &benchResult{Method: method, Threads: f.threads, Load: time.Since(start).Nanoseconds()}
	if r.Threads == 0 {
		r.Threads = goruntime.GOMAXPROCS(0)
	}
	meta, err := m.Meta(method)
	if err != nil {
		return nil, err
	}
	if e, err := m.MemoryEstimate(method); err == nil {
		r.PlannedBytes = e.Total()
	}
	inputs, err := readInputs(f.input, meta)
	if err != nil {
		return nil, err
	}
	outputs := make([]runtime.EValue, len(meta.Outputs))
	once := func() (int64, error) {
		t := time.Now()
		err := m.ExecuteInto(ctx, method, outputs, inputs...)
		return time.Since(t).Nanoseconds(), err
	}
	if r.First, err = once(); err != nil {
		return nil, err
	}
	for range f.warmup {
		if _, err := once(); err != nil {
			return nil, err
		}
	}
	// Room for the figures beforehand, so that they are not counted as allocations.
	times := make([]int64, 0, 1<<16)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	for end := time.Now().Add(time.Duration(f.seconds * float64(time.Second))); len(times) < cap(times); {
		t, err := once()
		if err != nil {
			return nil, err
		}
		times = append(times, t)
		if time.Now().After(end) {
			break
		}
	}
	goruntime.ReadMemStats(&after)
	r.Runs = len(times)
	r.Allocations = float64(after.Mallocs-before.Mallocs) / float64(len(times))
	r.Latency = percentilesOf(times)
	r.PeakBytes = peakBytes()
	return r, nil
}

// percentilesOf sorts times and tells how they are spread.
func percentilesOf(times []int64) percentiles {
	slices.Sort(times)
	at := func(p float64) int64 {
		return times[int(math.Ceil(p*float64(len(times))))-1]
	}
	var sum int64
	for _, t := range times {
		sum += t
	}
	n := len(times)
	return percentiles{Min: times[0], P50: at(0.50), P90: at(0.90), P99: at(0.99), Max: times[n-1], Mean: sum / int64(n)}
}

func (r *benchResult) print(w io.Writer) {
	d := func(ns int64) time.Duration { return time.Duration(ns).Round(10 * time.Nanosecond) }
	fmt.Fprintf(w, "method %s, %d threads, %d runs\n", r.Method, r.Threads, r.Runs)
	fmt.Fprintf(w, "  latency      p50 %v   p90 %v   p99 %v   min %v   max %v\n",
		d(r.Latency.P50), d(r.Latency.P90), d(r.Latency.P99), d(r.Latency.Min), d(r.Latency.Max))
	fmt.Fprintf(w, "  load         %v, first run %v\n", d(r.Load), d(r.First))
	fmt.Fprintf(w, "  allocations  %.1f per run\n", r.Allocations)
	fmt.Fprintf(w, "  memory       %.1f MB planned", float64(r.PlannedBytes)/1e6)
	if r.PeakBytes > 0 {
		fmt.Fprintf(w, ", %.1f MB peak resident", float64(r.PeakBytes)/1e6)
	}
	fmt.Fprintln(w)
}
