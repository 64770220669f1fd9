// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"varve.dev/zarr/store"
)

// checkListVersions checks that listings with versions have the entries of plain ones,
// and say what Stat says.
func checkListVersions(p *probe) {
	_, ok := store.As[store.Lister](p.s)
	for _, err := range store.List(p.ctx, p.s, store.Path{}, store.WithVersions) {
		if p.lacks(ok, err, "ListVersions") {
			return
		}
	}
	for _, dir := range []string{"", "a", "a/c", "a/c/0", "none", "ab", "deep"} {
		for _, how := range []store.Listing{store.Flat, store.Deep} {
			p.listsVersions(dir, how)
		}
	}
	for range store.List(p.ctx, p.s, store.Path{}, store.Deep|store.WithVersions) {
		break // the caller may stop early
	}
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	for _, err := range store.List(ctx, p.s, store.Path{}, store.Deep|store.WithVersions) {
		p.is(err, context.Canceled, "ListVersions")
	}
}

// listsVersions compares a listing with versions to a plain one and to Stat.
func (p *probe) listsVersions(dir string, how store.Listing) {
	path, err := store.ParsePath(dir)
	p.is(err, nil, "ParsePath %q", dir)
	missing := map[string]bool{} // by name, whether it is a directory
	for e, err := range store.List(p.ctx, p.s, path, how) {
		p.is(err, nil, "List %q", dir)
		missing[e.Name] = e.Dir
	}
	for e, err := range store.List(p.ctx, p.s, path, how|store.WithVersions) {
		p.is(err, nil, "ListVersions %q", dir)
		if isDir, listed := missing[e.Name]; err != nil || !listed || isDir != e.Dir {
			p.errorf("ListVersions %q (%d): %q, which List does not yield", dir, how, e.Name)
			continue
		}
		delete(missing, e.Name)
		if !e.Dir {
			p.describes(path.MustKey(e.Name), e)
		}
	}
	if len(missing) > 0 {
		p.errorf("ListVersions %q (%d) omits %v", dir, how, missing)
	}
}

// describes checks that an entry of a listing with versions says what Stat says.
func (p *probe) describes(key store.Key, e store.Entry) {
	info, err := store.Stat(p.ctx, p.s, key)
	p.is(err, nil, "Stat %q", key)
	if listed := (store.Info{Size: e.Size, Version: e.Version}); !listed.Same(info) {
		p.errorf("ListVersions: %q is %v, and Stat says %v", key, listed, info)
	}
	if !e.Modified.IsZero() && !near(e.Modified, info.Modified) {
		p.errorf("ListVersions: %q was written %v, and Stat says %v", key, e.Modified, info.Modified)
	}
}

// checkChangedVersions checks that two listings differ in the values that were changed
// between them, and in no others.
func checkChangedVersions(p *probe) {
	if _, ok := store.As[store.Lister](p.s); !ok {
		return
	}
	for i := range 100 {
		p.put(fmt.Sprintf("v/%d/k", i), bytes.Repeat([]byte("x"), i))
	}
	before := p.versions("v")
	p.put("v/7/k", []byte("yyyyyyy")) // of equal length
	p.put("v/8/k", []byte("other"))
	p.put("v/new/k", []byte("other"))
	after := p.versions("v")
	if len(before) != 100 || len(after) != 101 {
		p.errorf("ListVersions: %d and %d values, want 100 and 101", len(before), len(after))
	}
	for name, v := range after {
		was, existed := before[name]
		changed := name == "7/k" || name == "8/k" || name == "new/k"
		if existed && v.IsZero() != was.IsZero() || !v.IsZero() && changed != (v != was) {
			p.errorf("ListVersions: %q had version %v, and now %v", name, was, v)
		}
	}
}

// versions returns the versions of all values below dir.
func (p *probe) versions(dir string) map[string]store.Version {
	path, err := store.ParsePath(dir)
	p.is(err, nil, "ParsePath %q", dir)
	all := map[string]store.Version{}
	for e, err := range store.List(p.ctx, p.s, path, store.Deep|store.WithVersions) {
		p.is(err, nil, "ListVersions %q", dir)
		all[e.Name] = e.Version
	}
	return all
}

// Figures of [checkModified].
const (
	clockSkew = time.Minute // how far a time may be from now
	clockTick = time.Second // HTTP rounds times to this, so a converted time may be off by as much
)

// checkModified checks that the time of a write, if the store reports one, is by the
// clock of this machine, and that a later write has no earlier time.
func checkModified(p *probe) {
	var last time.Time
	for i := range 10 {
		p.put("m", fmt.Appendf(nil, "value %d", i))
		info, err := store.Stat(p.ctx, p.s, store.MustKey("m"))
		p.is(err, nil, "Stat")
		switch now := time.Now(); {
		case info.Modified.IsZero():
			return
		case now.Sub(info.Modified).Abs() > clockSkew:
			p.errorf("write %d was %v, and now it is %v", i, info.Modified, now)
		case last.Sub(info.Modified) > clockTick:
			p.errorf("write %d was %v, after one of %v", i, info.Modified, last)
		}
		last = info.Modified
	}
}

// near reports whether two results for one version give the same time.
func near(a, b time.Time) bool { return a.IsZero() == b.IsZero() && a.Sub(b).Abs() <= clockTick }
