// SPDX-License-Identifier: Apache-2.0

// Package selection names elements of an array and plans which chunks hold them. It does
// no I/O.
//
// A [Selection] names elements: a [Box], indices and slices ([Basic]), lists along each
// axis ([Orthogonal]), [Points], a [Mask] or whole chunks ([Blocks]). [Resolve] binds it
// to the shape of an array. The [Resolved] selection has the shape of the result.
// [NewPlan] combines it with a grid and visits only the chunks that hold selected
// elements, without an allocation for each.
package selection
