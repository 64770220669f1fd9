// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"math"

	"varve.dev/zarr/internal/checked"
)

// total is a sum of products that may exceed int64.
type total struct {
	exact  int64   // math.MaxInt64 if the number is larger
	approx float64 // the number itself, rounded
}

// count returns n as a total.
func count(n int64) total { return total{n, float64(n)} }

// plus returns t + a·b. Neither factor may be negative.
func (t total) plus(a, b int64) total {
	// The conversion keeps processors from fusing the product with the sum, which rounds
	// differently.
	t.approx += float64(float64(a) * float64(b))
	p, ok := checked.Mul(a, b)
	if ok {
		t.exact, ok = checked.Add(t.exact, p)
	}
	if !ok {
		t.exact = math.MaxInt64
	}
	return t
}

// times returns t·u.
func (t total) times(u total) total {
	p := total{approx: t.approx * u.approx}
	var ok bool
	if p.exact, ok = checked.Mul(t.exact, u.exact); !ok {
		p.exact = math.MaxInt64
	}
	return p
}

// and returns t + u.
func (t total) and(u total) total {
	s := t.plus(u.exact, 1)
	s.approx = t.approx + u.approx
	return s
}
