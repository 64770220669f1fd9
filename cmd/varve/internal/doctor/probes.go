// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// probes are made in this order.
var probes = []struct {
	name, title string
	run         func(context.Context, *doctor) result
}{
	{"read_after_write", "a value is read as it was written last", readAfterWrite},
	{"ranges", "ranges of bytes are read without the rest", ranges},
	{"suffixes", "the end of a value is read without its size", suffixes},
	{"list", "values are listed", list},
	{"list_after_write", "a listing shows what was written before it", listAfterWrite},
	{"versions", "every value has a version", versions},
	{"unique_versions", "a write of equal bytes changes the version", uniqueVersions},
	{"pinned_reads", "a read of one version notices another one", pinnedReads},
	{"create_only", "only the first of several writers creates a value", createOnly},
	{"compare_and_swap", "a value is replaced only while it has the expected version", compareAndSwap},
	{"conditional_delete", "a value is deleted only while it has the expected version", conditionalDelete},
	{"delete_race", "a deletion and a write of the same version exclude each other", deleteRace},
	{"locks", "writers can lock a node", locks},
	{"copies", "the store copies values by itself", copies},
	{"assembles", "the store makes a value of ranges of others", assembles},
	{"deletes", "a deleted value is gone", deletes},
	{"clock", "the clocks of the store and of this machine agree", clock},
}

// attempts is how often a probe is made that depends on time.
const attempts = 5

func readAfterWrite(ctx context.Context, d *doctor) result {
	// One success proves nothing: a cache or a replica is stale only for a moment.
	for n := range byte(attempts) {
		if _, err := d.put(ctx, "first", value(n)); err != nil {
			return holds(err)
		}
		got, _, err := d.get(ctx, "first", store.Whole())
		if err != nil {
			return holds(err)
		}
		if !bytes.Equal(got, value(n)) {
			return fails("write %d was not read; readers may see old chunks and old metadata", n)
		}
	}
	return holds(nil)
}

func ranges(ctx context.Context, d *doctor) result {
	return readPart(ctx, d, store.Span(100, 50), 100, 150)
}

func suffixes(ctx context.Context, d *doctor) result {
	return readPart(ctx, d, store.Suffix(10), 990, 1000)
}

func readPart(ctx context.Context, d *doctor, r store.Range, from, to int) result {
	if _, err := d.put(ctx, "part", value(1)); err != nil {
		return holds(err)
	}
	got, _, err := d.get(ctx, "part", r)
	// Readers of shards then fetch more bytes than they need.
	if errors.Is(err, store.ErrUnsupported) {
		return fails("%v", err)
	}
	if err == nil && !bytes.Equal(got, value(1)[from:to]) {
		return fails("other bytes were read")
	}
	return holds(err)
}

func list(ctx context.Context, d *doctor) result {
	if _, err := d.listed(ctx); errors.Is(err, store.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return fails("%v", err)
	} else {
		return holds(err)
	}
}

// listed returns the names and sizes of the probe values.
func (d *doctor) listed(ctx context.Context) (map[string]store.Entry, error) {
	all := map[string]store.Entry{}
	for e, err := range store.List(ctx, d.s, d.dir, store.Deep) {
		if err != nil {
			return nil, err
		}
		all[e.Name] = e
	}
	return all, nil
}

func listAfterWrite(ctx context.Context, d *doctor) result {
	for n := range byte(attempts) {
		name := "listed" + string('a'+rune(n))
		if _, err := d.put(ctx, name, value(n)); err != nil {
			return holds(err)
		}
		all, err := d.listed(ctx)
		if err != nil {
			return holds(err)
		}
		if e, found := all[name]; !found || e.Size >= 0 && e.Size != 1000 {
			return fails("value %d was not listed after it was written", n)
		}
	}
	return holds(nil)
}

func versions(ctx context.Context, d *doctor) result {
	info, err := store.Stat(ctx, d.s, d.key("first"))
	if err == nil && info.Version.IsZero() {
		return fails("replaced chunks are not noticed")
	}
	return holds(err)
}

func uniqueVersions(ctx context.Context, d *doctor) result {
	if d.report.Of("versions") != Holds {
		return result{outcome: Unknown}
	}
	seen := map[store.Version]bool{}
	// Write the same bytes twice. A version that is their hash cannot tell a writer
	// whether another one wrote between.
	for range 2 {
		if _, err := d.put(ctx, "same", value(1)); err != nil {
			return holds(err)
		}
		info, err := store.Stat(ctx, d.s, d.key("same"))
		if err != nil {
			return holds(err)
		}
		if seen[info.Version] {
			return fails("the version is a hash of the bytes")
		}
		seen[info.Version] = true
	}
	return holds(nil)
}

func pinnedReads(ctx context.Context, d *doctor) result {
	if _, err := d.put(ctx, "pinned", value(1)); err != nil {
		return holds(err)
	}
	info, err := store.Stat(ctx, d.s, d.key("pinned"))
	if err != nil {
		return holds(err)
	}
	p := store.Pin(d.s, d.key("pinned"), info)
	defer p.Close()
	if _, err := d.put(ctx, "pinned", value(2)); err != nil {
		return holds(err)
	}
	got, _, err := p.Read(ctx, store.Request{Range: store.Span(0, 10)}, nil)
	// A store that keeps the version open may still read it.
	if err == nil && !bytes.Equal(got, value(1)[:10]) {
		return fails("bytes of two versions may be mixed")
	}
	// A conflict is the answer wanted: the reader opens the new version.
	if errors.Is(err, store.ErrConflict) {
		err = nil
	}
	return holds(err)
}

// race begins requests at the same time, and returns how many succeed. The others may
// fail by a conflict.
func race(rivals byte, request func(n byte) error) (won int, failed error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for n := range rivals {
		// Only requests in flight at the same time show whether the store compares and
		// writes in one step.
		all.Go(func() {
			err := request(n)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, store.ErrConflict) {
				failed = err
			}
		})
	}
	all.Wait()
	return won, failed
}

// writers is the number of writers of one value: that of a document on a busy day.
const writers = 8

// write races writers of one value.
func (d *doctor) write(ctx context.Context, name string, cond store.Condition) result {
	key := d.key(name)
	return raceResult(race(writers, func(n byte) error {
		_, err := store.Write(ctx, d.s, store.PutIf(key, value(n), cond), store.Sync)
		return err
	}))
}

// raceResult returns the result of a race.
func raceResult(won int, err error) result {
	switch {
	case errors.Is(err, store.ErrUnsupported):
		return fails("%v", err)
	case err != nil:
		return holds(err)
	case won != 1:
		return fails("%d of %s succeeded, one may", won, quantity.Count(writers, "writers"))
	}
	return holds(nil)
}

func createOnly(ctx context.Context, d *doctor) result {
	return d.write(ctx, "created", store.IfAbsent())
}

func compareAndSwap(ctx context.Context, d *doctor) result {
	v, err := d.put(ctx, "swapped", value(1))
	// Some stores return no version from a write, only from a later look.
	if err == nil && v.IsZero() {
		var info store.Info
		info, err = store.Stat(ctx, d.s, d.key("swapped"))
		v = info.Version
	}
	if err != nil {
		return holds(err)
	}
	return d.write(ctx, "swapped", store.IfVersion(v))
}

func conditionalDelete(ctx context.Context, d *doctor) result {
	if _, err := d.put(ctx, "dropped", value(1)); err != nil {
		return holds(err)
	}
	// Take the version, replace the value, and delete by the old version: that must fail.
	old, err := store.Stat(ctx, d.s, d.key("dropped"))
	if err != nil {
		return holds(err)
	}
	if _, err := d.put(ctx, "dropped", value(2)); err != nil {
		return holds(err)
	}
	switch _, err := store.Write(ctx, d.s, store.DeleteIf(d.key("dropped"), old.Version), store.Sync); {
	case errors.Is(err, store.ErrUnsupported):
		return fails("%v", err)
	case err == nil:
		return fails("a value of another version was deleted")
	case !errors.Is(err, store.ErrConflict):
		return holds(err)
	}
	// With the present version the deletion must succeed.
	now, err := store.Stat(ctx, d.s, d.key("dropped"))
	if err == nil {
		_, err = store.Write(ctx, d.s, store.DeleteIf(d.key("dropped"), now.Version), store.Sync)
	}
	return holds(err)
}

// deleteRace lets deletions and writes of one version run at the same time. If both a
// deletion and a write succeed, the write is lost. A service that checks and then
// deletes, without a lock, does so. It needs luck to see that, so there are several
// rounds.
func deleteRace(ctx context.Context, d *doctor) result {
	const rounds = 16
	for round := range byte(rounds) {
		// Some services take only one write a second of one name.
		deleted, written, err := d.contest(ctx, "contested"+string('a'+rune(round)), round)
		switch {
		case errors.Is(err, store.ErrUnsupported):
			return fails("%v", err)
		case err != nil:
			return holds(err)
		case deleted > 0 && written > 0:
			return fails("%s and %s of one version succeeded: a write can be deleted", quantity.Count(deleted, "deletions"), quantity.Count(written, "writes"))
		}
	}
	return holds(nil)
}

// contest writes a value, and lets deletions and writes of its version run at the same
// time. It returns how many of each succeed. Several deletions may: some services say
// that a deletion of a missing value is a success.
func (d *doctor) contest(ctx context.Context, name string, round byte) (deleted, written int32, _ error) {
	const rivals = 8
	key := d.key(name)
	if _, err := d.put(ctx, name, value(1)); err != nil {
		return 0, 0, err
	}
	now, err := store.Stat(ctx, d.s, key)
	if err != nil {
		return 0, 0, err
	}
	var deletions, writes atomic.Int32
	_, err = race(rivals, func(n byte) error {
		if (n+round)%2 == 0 { // each may begin first
			_, err := store.Write(ctx, d.s, store.DeleteIf(key, now.Version), store.Sync)
			return counted(&deletions, err)
		}
		_, err := store.Write(ctx, d.s, store.PutIf(key, value(n), store.IfVersion(now.Version)), store.Sync)
		return counted(&writes, err)
	})
	return deletions.Load(), writes.Load(), err
}

// counted counts a success.
func counted(n *atomic.Int32, err error) error {
	if err == nil {
		n.Add(1)
	}
	return err
}

func locks(ctx context.Context, d *doctor) result {
	unlock, err := store.Lock(ctx, d.s, d.dir)
	if errors.Is(err, store.ErrUnsupported) {
		return fails("writers use conditions instead")
	}
	if err == nil {
		err = unlock()
	}
	return holds(err)
}

func copies(ctx context.Context, d *doctor) result {
	if _, err := d.put(ctx, "copied", value(3)); err != nil {
		return holds(err)
	}
	cloner := store.Can(d.s, store.OpClone)
	copier := store.Can(d.s, store.OpCopy)
	// store.Clone falls back to a copy through this machine, which proves nothing here.
	if !cloner && !copier {
		return fails("bytes that are copied pass through this machine")
	}
	_, err := store.Write(ctx, d.s, store.Clone(d.key("copy"), d.key("copied"), store.Version{}), store.Sync)
	return d.compare(ctx, "copy", value(3), err)
}

func assembles(ctx context.Context, d *doctor) result {
	if !store.Can(d.s, store.OpAssemble) {
		return fails("shards that are merged pass through this machine")
	}
	if _, err := d.put(ctx, "whole", value(4)); err != nil {
		return holds(err)
	}
	parts := []store.Part{{Key: d.key("whole"), Off: 100, N: 50}, {Data: []byte("new")}, {Key: d.key("whole"), N: 10}}
	_, err := store.Write(ctx, d.s, store.Assemble(d.key("assembled"), parts), store.Sync)
	v := value(4)
	return d.compare(ctx, "assembled", append(append(append([]byte{}, v[100:150]...), "new"...), v[:10]...), err)
}

// compare compares a value, after it was made.
func (d *doctor) compare(ctx context.Context, name string, want []byte, err error) result {
	if errors.Is(err, store.ErrUnsupported) {
		return fails("%v", err)
	}
	if err != nil {
		return holds(err)
	}
	got, _, err := d.get(ctx, name, store.Whole())
	if err == nil && !bytes.Equal(got, want) {
		return fails("it has other bytes")
	}
	return holds(err)
}

func deletes(ctx context.Context, d *doctor) result {
	if _, err := d.put(ctx, "deleted", value(1)); err != nil {
		return holds(err)
	}
	switch _, err := store.Write(ctx, d.s, store.Delete(d.key("deleted")), store.Sync); {
	case errors.Is(err, store.ErrUnsupported), errors.Is(err, fs.ErrPermission):
		return fails("%v", err)
	case err != nil:
		return holds(err)
	}
	// A missing chunk is read as the fill value only if the store says that it does not
	// exist.
	if _, _, err := d.get(ctx, "deleted", store.Whole()); err == nil {
		return fails("it was read after it was deleted")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fails("missing values give another error, so chunks that are not stored cannot be read as fill values: %v", err)
	}
	return holds(nil)
}

// mostSkew is the difference of clocks that signatures and leases bear easily.
const mostSkew = time.Minute

func clock(ctx context.Context, d *doctor) result {
	begun := time.Now()
	if _, err := d.put(ctx, "timed", value(1)); err != nil {
		return holds(err)
	}
	info, err := store.Stat(ctx, d.s, d.key("timed"))
	if err != nil {
		return holds(err)
	}
	if info.Modified.IsZero() {
		return result{Unknown, "the store tells no times"}
	}
	if skew := info.Modified.Sub(begun).Round(time.Second); skew > mostSkew || skew < -mostSkew {
		return fails("a value seems to be written %v after it was", skew)
	}
	return holds(nil)
}
