// SPDX-License-Identifier: Apache-2.0

// Package speed has the benchmarks of whole calls.
package speed
