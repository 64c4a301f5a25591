package cpu

// Caches are the sizes in bytes of a core's data caches, for choosing block
// sizes. L3 is the part of the shared cache that one core may count on.
type Caches struct{ L1, L2, L3 int }

// DefaultCaches are sizes that nearly every processor in use reaches; block
// sizes chosen for them are at most a little small elsewhere.
var DefaultCaches = Caches{L1: 32 << 10, L2: 512 << 10, L3: 2 << 20}
