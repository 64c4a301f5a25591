package parallel

import (
	"runtime"
	"testing"
	"time"
)

type nothing struct{}

func (nothing) Run(worker, lo, hi int) {}

// BenchmarkForEmpty is what a loop costs its caller when there is nothing to
// do.
func BenchmarkForEmpty(b *testing.B) {
	p := New(2)
	defer p.Close()
	b.ReportAllocs()
	for b.Loop() {
		p.For(2, 1, nothing{})
	}
}

// spinner works for a number of steps per index.
type spinner struct {
	steps int
	sink  [64][16]uint64
}

func (s *spinner) Run(worker, lo, hi int) {
	x := s.sink[worker&63][0]
	for range (hi - lo) * s.steps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	s.sink[worker&63][0] = x
}

// BenchmarkForSplit runs two equal halves of some microseconds. The overhead,
// reported as such, is what the loop takes beyond the time of one half.
func BenchmarkForSplit(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("needs two threads")
	}
	for _, steps := range []int{1000, 10000, 50000} {
		s := &spinner{steps: steps}
		b.Run((time.Duration(steps) * time.Nanosecond).String(), func(b *testing.B) {
			p := New(2)
			defer p.Close()
			var half time.Duration
			for range 200 { // the least of many: what the core can do undisturbed
				start := time.Now()
				s.Run(0, 0, 1)
				if d := time.Since(start); half == 0 || d < half {
					half = d
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				p.For(2, 1, s)
			}
			b.ReportMetric(float64(half.Nanoseconds()), "half-ns/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)-float64(half.Nanoseconds()), "overhead-ns/op")
		})
	}
}

// BenchmarkForAsleep is a loop whose workers have gone to sleep.
func BenchmarkForAsleep(b *testing.B) {
	p := New(2)
	defer p.Close()
	var total time.Duration
	for b.Loop() {
		time.Sleep(3 * spinTime)
		start := time.Now()
		p.For(2, 1, nothing{})
		total += time.Since(start)
	}
	b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "loop-ns/op")
}
