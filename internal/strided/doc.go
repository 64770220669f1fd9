// SPDX-License-Identifier: Apache-2.0

// Package strided copies and fills blocks of elements in memory, whatever their layout.
//
// A [View] is a block seen through strides: rows of a larger array, a column of a table,
// or a reversed axis. [Copy] copies elements between two views of one shape. It copies
// whole rows if both views have them, and planes if their axes are in another order. A
// [Part] selects some elements of a block. Its [Picks] name elements that are not evenly
// spaced. A [Heap] holds the bytes of elements of variable length.
//
// No function allocates memory per element, or checks what the caller guarantees: that
// shapes agree, and that all offsets lie within Data.
package strided
