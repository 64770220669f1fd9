// SPDX-License-Identifier: Apache-2.0

// Package layers contains the tests of the layering of the core module's packages.
//
// Every package belongs to a layer, and its non-test files import lower layers only. So a
// package can be read, tested and used with only those below it, and a change of it never
// requires a change below.
package layers
