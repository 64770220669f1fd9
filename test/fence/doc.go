// SPDX-License-Identifier: Apache-2.0

// Package fence lets goroutines and processes change and read one array at the same time:
// with locks, with fences, without either, killed and stopped.
package fence
