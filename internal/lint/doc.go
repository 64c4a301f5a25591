// Package lint holds tests of the project's own rules: who may import whom, and
// where unsafe may be used.
package lint
