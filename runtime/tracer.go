package runtime

import "time"

// EventKind tells what an Event is about.
type EventKind uint8

// The kinds of events.
const (
	EventLoadMethod EventKind = iota
	EventExecute
	EventKernel
	EventDelegate
	// EventDelegateNode is a part of a delegate's work; its Name is the node's.
	EventDelegateNode
)

func (k EventKind) String() string {
	return [...]string{"load_method", "execute", "kernel", "delegate", "delegate_node"}[k]
}

// Event describes a piece of work. It is valid during the call that gets it.
type Event struct {
	Kind   EventKind
	Method string
	// Name is the operator's, backend's or node's name, empty for whole methods.
	Name string
	// Chain and Instruction locate the work in the file; Instruction is the
	// exporter's debug handle of today's programs. -1 where they do not apply.
	Chain, Instruction int
	// Args are the arguments of a kernel or delegate, with their values at the
	// time of the call; read them before returning.
	Args []*EValue
	// Start is when the work began. Duration and Err are set at the end only.
	Start    time.Time
	Duration time.Duration
	Err      error
}

// Tracer is told of the work of a method, from the goroutine that does it. Begin
// and End come in pairs and nest.
type Tracer interface {
	Begin(e *Event)
	End(e *Event)
}
