// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"context"
	"fmt"
	"iter"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Listing is what a store yields.
type Listing = iter.Seq2[store.Entry, error]

const (
	pageEntries = 512 // that pass between goroutines at once
	// mostWaiting bounds the entries that wait for their counterparts: they take some
	// 200 bytes each. Listings in similar orders have few.
	mostWaiting = 2 << 20
)

// page is a part of a Listing. The last one has done set, and comes only if the Listing
// has ended without an error.
type page struct {
	entries []store.Entry
	done    bool
}

// Pair calls visit for every name in two listings, once, with its entries: one of them is
// nil if only the other Listing has the name. It does so as early as it is known. It
// lists both at the same time, in whatever orders.
//
// Only a Listing that has ended without an error shows that a name is missing.
func Pair(ctx context.Context, from, to Listing, visit func(from, to *store.Entry) error) error {
	g, ctx := parallel.New(ctx)
	p := pairing{visit: visit}
	for i, l := range [...]Listing{from, to} {
		p.pages[i], p.waiting[i] = make(chan page, 4), map[string]store.Entry{}
		g.Go(func() error { return send(ctx, l, p.pages[i]) })
	}
	return g.Wait(p.run(ctx))
}

// send sends a Listing in pages.
func send(ctx context.Context, l Listing, to chan<- page) error {
	var next page
	flush := func() error {
		select {
		case to <- next:
			next = page{}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for e, err := range l {
		if err != nil {
			return err
		}
		if next.entries = append(next.entries, e); len(next.entries) == pageEntries {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	next.done = true
	return flush()
}

// pairing pairs the entries of two listings.
type pairing struct {
	visit   func(from, to *store.Entry) error
	pages   [2]chan page
	done    [2]bool
	waiting [2]map[string]store.Entry // entries whose counterparts have not come yet
}

// run takes pages of the two listings in turn, so that neither runs far ahead.
func (p *pairing) run(ctx context.Context) error {
	for side := 0; !p.done[0] || !p.done[1]; side = 1 - side {
		if p.done[side] {
			continue
		}
		select {
		case next := <-p.pages[side]:
			if err := p.take(side, next); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// take pairs the entries of a page.
func (p *pairing) take(side int, next page) error {
	for _, e := range next.entries {
		if err := p.entry(side, e); err != nil {
			return err
		}
	}
	if !next.done {
		return nil
	}
	p.done[side] = true
	// What still waits has no counterpart.
	for name, e := range p.waiting[1-side] {
		if err := p.alone(1-side, e); err != nil {
			return err
		}
		delete(p.waiting[1-side], name)
	}
	return nil
}

func (p *pairing) entry(side int, e store.Entry) error {
	if other, found := p.waiting[1-side][e.Name]; found {
		delete(p.waiting[1-side], e.Name)
		var both [2]*store.Entry
		both[side], both[1-side] = &e, &other
		return p.visit(both[0], both[1])
	}
	if p.done[1-side] {
		return p.alone(side, e)
	}
	if p.waiting[side][e.Name] = e; len(p.waiting[0])+len(p.waiting[1]) > mostWaiting {
		return fmt.Errorf("%w: the two stores list more than %s in different orders; sync the nodes below one by one", zarr.ErrLimit, quantity.Count(mostWaiting, "values"))
	}
	return nil
}

// alone visits an entry without a counterpart.
func (p *pairing) alone(side int, e store.Entry) error {
	if side == 0 {
		return p.visit(&e, nil)
	}
	return p.visit(nil, &e)
}

// NameOf returns the name of a pair of entries, one of which may be nil.
func NameOf(from, to *store.Entry) string {
	if from == nil {
		return to.Name
	}
	return from.Name
}
