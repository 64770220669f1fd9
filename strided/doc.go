// SPDX-License-Identifier: Apache-2.0

// Package strided copies and fills blocks of elements in memory, whatever their layout.
//
// A [View] is a block seen through strides: rows of a larger array, a column of a table,
// an axis turned round. [Copy] moves elements between two views of one shape, by whole
// rows where both have them and by planes where their axes are in another order. A [Part]
// selects some elements of a block, and [Picks] says which where these are not evenly
// spaced. A [Heap] has the bytes of elements that differ in length.
//
// Nothing here allocates for an element, and nothing checks bounds that the caller
// guarantees: shapes agree, and all offsets lie within Data.
package strided
