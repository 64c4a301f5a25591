package runtime

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/tensor"
)

// KernelFunc computes one call of an operator. The arguments are as the
// operator's schema lists them: their number and kinds have been checked. It
// returns an error on arguments it cannot take and writes only to arguments
// that the schema marks as written.
type KernelFunc func(ctx *KernelRuntimeContext, args Args) error

// Kernel is an operator's implementation.
type Kernel struct {
	// Schema is the operator's schema with its namespace; see ParseSignature.
	Schema string
	// Run computes a call.
	Run KernelFunc
	// Prepare is called once per call site while a method is loaded, with the
	// values as they are then: constants have their data, others their upper bound
	// shapes and no meaningful data. The function it returns is used for this call
	// site in place of Run; nil means Run.
	Prepare func(ctx *PrepareContext, args Args) (KernelFunc, error)
	// Impure marks an operator whose result depends on more than its arguments, or
	// that does more than write its outputs. Calls of it are never folded or removed.
	Impure bool

	sig *Signature
}

// Name returns the full name, as in "aten::add.out".
func (k *Kernel) Name() string {
	if k.sig != nil {
		return k.sig.Name
	}
	name, _, _ := strings.Cut(k.Schema, "(")
	return name
}

// Signature returns the parsed schema of a registered kernel, nil before
// registration.
func (k *Kernel) Signature() *Signature { return k.sig }

// Kernels is a group of kernels, in most cases the overloads of an operator.
type Kernels []Kernel

// Registry holds the operators, backends and passes that programs are loaded
// with. It is a value that the application fills; nothing registers itself.
// A Registry may be used by many goroutines once it is filled.
type Registry struct {
	kernels  map[string]*Kernel
	backends map[string]Backend
	passes   []Pass
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{kernels: map[string]*Kernel{}, backends: map[string]Backend{}}
}

// Register adds kernels. A schema that cannot be parsed, a kernel without Run
// and a name that is registered already are errors; nothing is added then.
func (r *Registry) Register(groups ...Kernels) error {
	added := map[string]*Kernel{}
	for _, g := range groups {
		for _, k := range g {
			sig, err := ParseSignature(k.Schema)
			if err != nil {
				return errs.InvalidArgument.Wrap(err)
			}
			if k.Run == nil {
				return errs.InvalidArgument.Errorf("kernel %s has no Run function", sig.Name)
			}
			if r.kernels[sig.Name] != nil || added[sig.Name] != nil {
				return errs.InvalidArgument.Errorf("operator %s is already registered", sig.Name)
			}
			k.sig = sig
			added[sig.Name] = &k
		}
	}
	for name, k := range added {
		r.kernels[name] = k
	}
	return nil
}

// RegisterBackend adds the backend that runs delegates with the given id.
func (r *Registry) RegisterBackend(id string, b Backend) error {
	if b == nil || id == "" {
		return errs.InvalidArgument.Errorf("a backend needs an id and an implementation")
	}
	if r.backends[id] != nil {
		return errs.InvalidArgument.Errorf("backend %s is already registered", id)
	}
	r.backends[id] = b
	return nil
}

// RegisterPass adds a pass over the steps of each method that is loaded. Passes
// run in the order of registration.
func (r *Registry) RegisterPass(p Pass) { r.passes = append(r.passes, p) }

// Kernel returns the kernel registered for a full operator name, or nil.
func (r *Registry) Kernel(name string) *Kernel { return r.kernels[name] }

// Backend returns the backend registered for a delegate id, or nil.
func (r *Registry) Backend(id string) Backend { return r.backends[id] }

// Operators returns the names of all operators, sorted.
func (r *Registry) Operators() []string { return sortedKeys(r.kernels) }

// Backends returns the ids of all backends, sorted.
func (r *Registry) Backends() []string { return sortedKeys(r.backends) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Args are the arguments of one operator call. The accessors trust the
// operator's schema, by which the kinds were checked: the wrong one gives a zero
// value.
type Args []*EValue

// Tensor returns argument i, a Tensor or Tensor?; nil for None.
func (a Args) Tensor(i int) *tensor.Tensor { return a[i].tensor }

// Tensors returns argument i, a Tensor[] or Tensor?[]; nil elements are None.
func (a Args) Tensors(i int) []*tensor.Tensor { return a[i].Tensors() }

// Int returns argument i, an int.
func (a Args) Int(i int) int { return int(a[i].Int()) }

// OptInt returns argument i, an int?, and whether it is given.
func (a Args) OptInt(i int) (int, bool) { return int(a[i].Int()), a[i].kind != KindNone }

// Float returns argument i, a float.
func (a Args) Float(i int) float64 { return a[i].Double() }

// OptFloat returns argument i, a float?, and whether it is given.
func (a Args) OptFloat(i int) (float64, bool) { return a[i].Double(), a[i].kind != KindNone }

// Bool returns argument i, a bool.
func (a Args) Bool(i int) bool { return a[i].Bool() }

// OptBool returns argument i, a bool?, and whether it is given.
func (a Args) OptBool(i int) (value, ok bool) { return a[i].Bool(), a[i].kind != KindNone }

// Scalar returns argument i, a Scalar or Scalar?: an int, a bool, a float or None.
func (a Args) Scalar(i int) *EValue { return a[i] }

// Str returns argument i, a str.
func (a Args) Str(i int) string { return a[i].str }

// Ints returns argument i, an int[] or int[]?; nil for None. A list of no
// elements may be nil too; IsNone tells them apart.
func (a Args) Ints(i int) []int64 { return a[i].Ints() }

// Floats returns argument i, a float[] or float[]?.
func (a Args) Floats(i int) []float64 { return a[i].Doubles() }

// Bools returns argument i, a bool[].
func (a Args) Bools(i int) []bool { return a[i].Bools() }

// IsNone reports whether argument i is None.
func (a Args) IsNone(i int) bool { return a[i].kind == KindNone }

// DType returns argument i, a ScalarType or ScalarType?, and whether it is given.
func (a Args) DType(i int) (tensor.DType, bool) {
	v := a[i].Int()
	if v < 0 || v > 127 {
		return -1, a[i].kind != KindNone
	}
	return tensor.DType(v), a[i].kind != KindNone
}

// Set stores an operator's result in argument i, the slot of a result that
// aliases no argument.
func (a Args) Set(i int, v EValue) { *a[i] = v }
