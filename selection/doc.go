// Package selection names elements of an array and plans which part of which chunk they are.
//
// A [Selection] is bound to an array's shape with [Resolve]; the result tells the shape of what is selected. [NewPlan]
// lays it over a grid and walks the touched chunks only, without allocating for each of them. No I/O happens here.
//
// A [Parser] reads selections as text or JSON. Its Lookup, which the caller has, finds elements by coordinate values.
package selection
