package memory_test

import (
	"errors"
	"fmt"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/memory"
)

// A cache over a bounded heap: freed blocks are used again, and all of it
// together stays below the limit.
func Example() {
	budget := memory.NewBudget(memory.Limits{MaxBytes: 1 << 20})
	alloc := memory.NewCaching(memory.Limited(memory.Heap{}, budget))

	for range 3 {
		block, err := alloc.Allocate(100_000, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		alloc.Free(block)
	}
	stats := alloc.Stats()
	fmt.Println("hits:", stats.Hits, "misses:", stats.Misses, "charged:", budget.Used())

	_, err := alloc.Allocate(2<<20, 0)
	fmt.Println("too large:", errors.Is(err, errs.LimitExceeded))
	// Output:
	// hits: 2 misses: 1 charged: 114688
	// too large: true
}

func ExampleArena() {
	arena := memory.NewArenaSize(1024)
	if _, err := arena.Allocate(1000, 0); err != nil {
		fmt.Println(err)
	}
	if _, err := arena.Allocate(100, 0); err != nil {
		fmt.Println(err)
	}
	arena.Reset()
	fmt.Println("used:", arena.Used())
	// Output:
	// arena: 100 bytes with alignment 64 asked for, 24 of 1024 left
	// used: 0
}

func ExamplePlanned() {
	// Memory ids count from 1; the first size is reserved.
	planned, err := memory.NewPlanned([]int64{0, 4096}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer planned.Close()

	region, err := planned.Region(1, 256, 64)
	fmt.Println(len(region), cap(region), err)
	_, err = planned.Region(1, 4096, 64)
	fmt.Println(err)
	// Output:
	// 64 64 <nil>
	// 64 bytes at offset 4096 of memory id 1, which has 4096 bytes
}
