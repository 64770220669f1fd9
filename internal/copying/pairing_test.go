// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/store"
)

// numbers yields entries with numbers as names, and err at the end.
func numbers(order []int, err error) Listing {
	return func(yield func(store.Entry, error) bool) {
		for _, n := range order {
			if !yield(store.Entry{Name: fmt.Sprint(n), Size: int64(n)}, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Entry{}, err)
		}
	}
}

// TestPair pairs random listings in random orders: every name once, and none is called
// missing in a Listing that fails.
func TestPair(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 18))
	failed := errors.New("failed")
	for range 100 {
		all := r.Perm(3000)
		n, m := r.IntN(3000), r.IntN(3000)
		from, to := all[:max(n, m)], all[min(n, m):]
		if r.IntN(2) == 0 { // in another order
			to = append([]int(nil), to...)
			r.Shuffle(len(to), func(i, j int) { to[i], to[j] = to[j], to[i] })
		}
		want := map[string][2]bool{}
		for i, list := range [][]int{from, to} {
			for _, x := range list {
				has := want[fmt.Sprint(x)]
				has[i] = true
				want[fmt.Sprint(x)] = has
			}
		}
		var fails [2]error
		if k := r.IntN(4); k < 2 {
			fails[k] = failed
		}
		seen := map[string]bool{}
		err := Pair(t.Context(), numbers(from, fails[0]), numbers(to, fails[1]), func(a, b *store.Entry) error {
			name := NameOf(a, b)
			has := want[name]
			if seen[name] || a == nil && has[0] || b == nil && has[1] || a != nil && b != nil && a.Name != b.Name {
				t.Errorf("%s: %v and %v, want %v", name, a, b, has)
			}
			if a == nil && fails[0] != nil || b == nil && fails[1] != nil {
				t.Errorf("%s is missing in a Listing that fails", name)
			}
			seen[name] = true
			return nil
		})
		if fails == [2]error{} && (err != nil || len(seen) != len(want)) {
			t.Fatalf("%d names, want %d: %v", len(seen), len(want), err)
		}
		if fails != [2]error{} && !errors.Is(err, failed) {
			t.Fatalf("error is %v", err)
		}
	}
}

// TestPairHoldsLittle pairs a million names in the same order, while few wait.
func TestPairHoldsLittle(t *testing.T) {
	n := 1_000_000
	if racing.Detector {
		n = 100_000
	}
	million := func(yield func(store.Entry, error) bool) {
		for k := range n {
			if !yield(store.Entry{Name: fmt.Sprint(k)}, nil) {
				return
			}
		}
	}
	most, pairs := 0, 0
	p := pairing{}
	p.visit = func(a, b *store.Entry) error {
		pairs++
		most = max(most, len(p.waiting[0]), len(p.waiting[1]))
		return nil
	}
	g, ctx := parallel.New(t.Context())
	for i := range p.pages {
		p.pages[i], p.waiting[i] = make(chan page, 4), map[string]store.Entry{}
		g.Go(func() error { return send(ctx, million, p.pages[i]) })
	}
	if err := g.Wait(p.run(ctx)); err != nil || pairs != n || most > 2*pageEntries {
		t.Errorf("%d pairs, %d waited: %v", pairs, most, err)
	}
}
