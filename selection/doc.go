// SPDX-License-Identifier: Apache-2.0

// Package selection names elements of an array and plans which chunks hold them. It does no
// I/O.
//
// A [Selection] says what is wanted: a [Box], indices and slices ([Basic]), lists along
// each axis ([Orthogonal]), [Points], a [Mask] or whole chunks ([Blocks]). [Resolve]
// binds it to the shape of an array; the [Resolved] selection knows the shape of the
// result. [NewPlan] lays that over a grid and visits the touched chunks only, without an
// allocation for each.
//
//	sel := selection.Basic{selection.Span(0, 10), selection.At(-1)}
//	r, err := selection.Resolve(sel, g.Shape())
//	v := selection.NewVisit(g.Rank())
//	for plan := selection.NewPlan(r, g); plan.Next(v); {
//		// Copy v.Count elements from v.Start of chunk v.Chunk, v.Step apart, to v.Place.
//	}
//
// A [Parser] reads selections from text or JSON. Its Lookup function, which the caller
// supplies, finds elements by coordinate values.
package selection
