package runtime

import (
	"sync"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/schema/program"
)

// Program is a decoded and verified .pte file. It is immutable: any number of
// goroutines may load methods from it.
//
// A Program counts its users. The bytes it was made from must stay valid and
// unchanged until the last of them, the Program itself or a Method, is closed.
type Program struct {
	file *program.Program
	// plans are the methods by name; of two with one name the first counts.
	plans map[string]*program.Plan
	data  *DataSet // without data files
	life  lifetime
}

// lifetime counts the users of a resource and frees it after the last.
type lifetime struct {
	mu    sync.Mutex
	users int
	free  func() error
}

func newLifetime(free func() error) lifetime { return lifetime{users: 1, free: free} }

// retain adds a user; it fails after the last one has gone.
func (l *lifetime) retain(what string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == 0 {
		return errs.Closed.Errorf("the %s is closed", what)
	}
	l.users++
	return nil
}

func (l *lifetime) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == 0 {
		return nil
	}
	l.users--
	if l.users > 0 || l.free == nil {
		return nil
	}
	return l.free()
}

// NewProgram decodes and verifies the bytes of a .pte file. The result aliases
// them. free, which may be nil, is called when the program and all its methods
// are closed. An error is ErrInvalidProgram and tells, for a file that is not a
// program at all, what it is.
func NewProgram(file []byte, free func() error) (*Program, error) {
	p, err := program.Decode(file)
	if err != nil {
		return nil, err
	}
	data, err := newDataSet(p, nil)
	if err != nil {
		return nil, errs.InvalidProgram.Wrap(err)
	}
	return &Program{file: p, plans: plansByName(p), data: data, life: newLifetime(free)}, nil
}

func plansByName(p *program.Program) map[string]*program.Plan {
	plans := make(map[string]*program.Plan, len(p.Plans))
	for i := range p.Plans {
		if plan := &p.Plans[i]; plans[plan.Name] == nil {
			plans[plan.Name] = plan
		}
	}
	return plans
}

// Retain adds a user, who must call Close once more.
func (p *Program) Retain() error { return p.life.retain("program") }

// Close ends one use of the program. Methods that are loaded go on working.
func (p *Program) Close() error { return p.life.release() }

// MethodNames returns the names of the methods in the order of the file.
func (p *Program) MethodNames() []string {
	names := make([]string, len(p.file.Plans))
	for i := range p.file.Plans {
		names[i] = p.file.Plans[i].Name
	}
	return names
}

func (p *Program) plan(name string) (*program.Plan, error) {
	if plan := p.plans[name]; plan != nil {
		return plan, nil
	}
	return nil, errs.MethodNotFound.Errorf("the program has no method %q; it has %q", name, someOf(p.MethodNames()))
}

// NewDataSet merges the program's named data with data files, in which methods
// loaded with WithDataSet find their external tensors. A key in two of them is
// ErrInvalidArgument. The files' bytes must stay valid as long as such methods.
func (p *Program) NewDataSet(files ...*DataFile) (*DataSet, error) {
	return newDataSet(p.file, files)
}

// NewSharedArenas prepares planned memory that methods loaded with
// WithSharedArenas have in common: the arenas with the given memory ids, or 1
// and 2 without any.
func (p *Program) NewSharedArenas(alloc memory.Allocator, budget *memory.Budget, ids ...uint32) (*memory.SharedArenas, error) {
	if len(ids) == 0 {
		ids = []uint32{1, 2}
	}
	plans := make([][]int64, len(p.file.Plans))
	for i := range p.file.Plans {
		plans[i] = p.file.Plans[i].BufferSizes
	}
	return memory.NewShared(memory.SharedSizes(plans, ids...), alloc, budget)
}

// MemoryEstimate tells what loading a method takes beside the file itself,
// before anything is allocated. What kernels pack is not known then.
func (p *Program) MemoryEstimate(method string) (memory.Estimate, error) {
	plan, err := p.plan(method)
	if err != nil {
		return memory.Estimate{}, err
	}
	n, err := memory.PlannedSize(plan.BufferSizes)
	return memory.Estimate{Planned: n}, err
}
