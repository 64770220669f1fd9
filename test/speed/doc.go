// Package speed has the benchmarks of whole calls.
package speed
