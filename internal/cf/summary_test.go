// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
)

// TestSummaryOrders compares the orders that a summary permits with those that elements
// have: it permits all of these, and without missing elements no order twice removed.
func TestSummaryOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, typ := range fixture.Types(t) {
		for _, attributes := range []map[string]any{nil, {"_Unsigned": "true"}, {"_Unsigned": "false", "missing_value": 1}, {"scale_factor": -0.5, "missing_value": 1}} {
			a := fixture.ArrayOf(t, typ, []int64{4})
			for name, value := range attributes {
				if err := a.SetAttribute(t.Context(), name, value); err != nil {
					t.Fatal(err)
				}
			}
			c, err := cf.ComparerOf(t.Context(), a)
			if err != nil || c.CanSummarize() != nil {
				continue
			}
			for range 200 {
				checkOrders(t, r, a, c)
			}
		}
	}
}

func checkOrders(t *testing.T, r *rand.Rand, a *zarr.Array, c *cf.Comparer) {
	t.Helper()
	n := 1 + r.IntN(5)
	if r.IntN(20) == 0 {
		n += 5000 // several stripes
	}
	var elems []byte
	one := fixture.Element(r, a.Type())
	for range n {
		if n < 9 || r.IntN(9) == 0 {
			one = fixture.Element(r, a.Type())
		}
		elems = append(elems, one...)
	}
	v := cf.Value{}
	for _, text := range []string{"0", "-1.5", "100", "true", "2000-01-01", "3 h"}[r.IntN(6):] {
		if is, err := c.Value(text); err == nil {
			v = is
			break
		}
	}
	s := c.Summarize(elems, cf.FillOf(a))
	possible, ok := c.Orders(s, int64(n), v)
	if !ok {
		t.Fatalf("%s: %+v", a.Type(), s)
	}
	orders := make([]cf.Order, n)
	c.Compare(orders, elems, v)
	missing, found := int64(0), [4]bool{}
	for _, o := range orders {
		if found[o+1] = true; o == cf.Absent {
			missing++
		}
	}
	if found[0] && found[2] {
		found[1] = found[1] || possible[1] // between the two, where there may be none
	}
	if missing != s.Missing || fmt.Sprint(found) != fmt.Sprint(possible) {
		t.Fatalf("%s: %v missing of %+v; orders %v, possible %v", a.Type(), missing, s, found, possible)
	}
	if _, ok := c.Orders(s, s.Missing-1, v); ok {
		t.Fatalf("%s: %+v is one of %d elements", a.Type(), s, s.Missing-1)
	}
	// Parts make the whole.
	half := n / 2 * a.Type().Size()
	parts := c.Summarize(elems[:half], cf.FillOf(a))
	if c.Merge(&parts, c.Summarize(elems[half:], cf.FillOf(a))); !c.Equal(parts, s) {
		t.Fatalf("%s: %+v, of parts %+v", a.Type(), s, parts)
	}
}

// TestSummaryFast compares summaries of many elements, for which processors have code of
// their own, with those of single ones.
func TestSummaryFast(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, typ := range fixture.Types(t) {
		for _, attributes := range []map[string]any{nil, {"_Unsigned": "true"}, {"_Unsigned": "false", "missing_value": 1}, {"missing_value": 0, "_FillValue": 1}} {
			a := fixture.ArrayOf(t, typ, []int64{4})
			for name, value := range attributes {
				if err := a.SetAttribute(t.Context(), name, value); err != nil {
					t.Fatal(err)
				}
			}
			c, err := cf.ComparerOf(t.Context(), a)
			if err != nil || c.CanSummarize() != nil {
				continue
			}
			size := typ.Size()
			few := make([][]byte, 3)
			for i := range few {
				few[i] = fixture.Element(r, typ)
			}
			for n := 1; n < 3000; n += 1 + r.IntN(n) {
				var elems []byte
				var want cf.Summary
				for range n {
					one := fixture.Element(r, typ)
					if n%2 == 0 {
						one = few[r.IntN(len(few))]
					}
					elems = append(elems, one...)
					c.Merge(&want, c.Summarize(one, cf.FillOf(a)))
				}
				if got := c.Summarize(elems, cf.FillOf(a)); !c.Equal(got, want) {
					t.Fatalf("%s, %v, %d elements: %+v, want %+v", typ, attributes, n, got, want)
				}
				v := strided.View{Data: elems, Shape: []int64{int64(n)}, Strides: []int64{int64(-size)}, Offset: int64((n - 1) * size), Size: size}
				if got := c.SummarizeView(v, cf.FillOf(a)); !c.Equal(got, want) {
					t.Fatalf("%s, backwards: %+v, want %+v", typ, got, want)
				}
			}
		}
	}
}

func BenchmarkSummarize(b *testing.B) {
	for _, typ := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Int16, dtype.Uint8} {
		a := fixture.ArrayOf(b, typ, []int64{4})
		c, err := cf.ComparerOf(b.Context(), a)
		if err != nil {
			b.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 4))
		elems := make([]byte, 1<<20)
		for i := range elems {
			elems[i] = byte(r.Uint32())
		}
		b.Run(typ.String(), func(b *testing.B) {
			b.SetBytes(int64(len(elems)))
			for b.Loop() {
				c.Summarize(elems, cf.FillOf(a))
			}
		})
	}
}
