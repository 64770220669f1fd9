// SPDX-License-Identifier: Apache-2.0

package storetest

import "varve.dev/zarr/store"

// checkDeleteTree deletes a directory, and checks that a similar name beside it stays.
func checkDeleteTree(p *probe) {
	dir, err := store.ParsePath("a/b")
	if err != nil {
		p.errorf("%w", err)
		return
	}
	order := store.TreeOrder{First: []string{"k", "zarr.json"}, Last: "note"}
	deletes := store.Can(p.s, store.OpDelete)
	_, lists := store.As[store.Lister](p.s)
	if !deletes || !lists {
		p.is(store.DeleteTree(p.ctx, p.s, dir, order, store.Flush), store.ErrUnsupported, "DeleteTree")
		return
	}
	p.is(store.DeleteTree(p.ctx, p.s, dir, order, store.Flush), nil, "DeleteTree of nothing")
	for _, name := range []string{"a/k", "a/bc", "a/b.c/k", "a/b/zarr.json", "a/b/note", "a/b/d/zarr.json", "a/b/d/note", "a/b/c/0/1"} {
		p.put(name, []byte(name))
	}
	for range 2 {
		p.is(store.DeleteTree(p.ctx, p.s, dir, order, store.Sync), nil, "DeleteTree")
		p.lists("", store.Deep, []string{"a/b.c/k", "a/bc", "a/k"})
	}
}
