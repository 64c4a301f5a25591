// Package kit is what the kernel families share: shapes and broadcasting,
// walking strided operands together, and converting spans between element
// types.
package kit
