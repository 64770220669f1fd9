// SPDX-License-Identifier: Apache-2.0

// Package fence tests concurrent changes and reads of one array by goroutines and
// processes: with locks, with fences, with neither, and with processes that are killed
// or stopped. [Run] lets the tests of a driver do a part of it on a real object store.
package fence
