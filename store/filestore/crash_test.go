// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// gone is the value of a key without a value.
const gone = "(gone)"

// world is a store under test, and for every key the values that it may have.
type world struct {
	t    *testing.T
	s    *filestore.Store
	may  map[string][]string
	disk *vfs.Disk
}

// mayBecome notes that a write of key has begun.
func (w *world) mayBecome(key, value string) {
	if w.may[key] == nil {
		w.may[key] = []string{gone}
	}
	w.may[key] = append(w.may[key], value)
}

// noteDurable notes that a write of key is durable.
func (w *world) noteDurable(key, value string) { w.may[key] = []string{value} }

func (w *world) put(key, value string) error {
	w.mayBecome(key, value)
	_, err := w.s.Write(w.t.Context(), store.Put(store.MustKey(key), []byte(value)), store.Sync)
	if err == nil {
		w.noteDurable(key, value)
	}
	return err
}

func (w *world) putIf(key, value string, cond store.Condition) error {
	w.mayBecome(key, value)
	_, err := w.s.Write(w.t.Context(), store.PutIf(store.MustKey(key), []byte(value), cond), store.Sync)
	if err == nil {
		w.noteDurable(key, value)
	}
	return err
}

// splice swaps the two halves of a value and puts middle between them. If batch is not
// nil, it does so in the batch.
func (w *world) splice(key, middle string, batch store.Batch) error {
	ctx, k := w.t.Context(), store.MustKey(key)
	old, info, err := w.s.Get(ctx, k, store.Request{}, nil)
	if err != nil {
		return err
	}
	half := info.Size / 2
	fragments := []store.Part{{Off: half, N: info.Size - half}, {Data: []byte(middle)}, {Off: 0, N: half}}
	want := string(old[half:]) + middle + string(old[:half])
	w.mayBecome(key, want)
	if batch != nil {
		_, err := batch.Write(ctx, store.Splice(k, info.Version, fragments))
		return err
	}
	if _, err = w.s.Write(ctx, store.Splice(k, info.Version, fragments), store.Sync); err == nil {
		w.noteDurable(key, want)
	}
	return err
}

// spliceBatch splices and puts in one batch, and commits.
func (w *world) spliceBatch(middle string) error {
	ctx := w.t.Context()
	b, err := w.s.Batch(ctx, store.Sync)
	if err != nil {
		return err
	}
	defer b.Discard()
	w.mayBecome("d/1", "1 of the batch")
	_, err = b.Write(ctx, store.Put(store.MustKey("d/1"), []byte("1 of the batch")))
	for _, key := range []string{"x", "d/2", "e/f/1"} {
		if err == nil {
			err = w.splice(key, middle, b)
		}
	}
	if err == nil {
		err = b.Commit(ctx)
	}
	if err != nil {
		return err
	}
	for _, key := range []string{"x", "d/1", "d/2", "e/f/1"} {
		w.noteDurable(key, w.may[key][len(w.may[key])-1])
	}
	return nil
}

// clone clones the value of source. If batch is not nil, it does so in the batch.
func (w *world) clone(key, source string, batch store.Batch) error {
	ctx, k, from := w.t.Context(), store.MustKey(key), store.MustKey(source)
	value, info, err := w.s.Get(ctx, from, store.Request{}, nil)
	if err != nil {
		return err
	}
	w.mayBecome(key, string(value))
	if batch != nil {
		_, err = batch.Write(ctx, store.Clone(k, from, info.Version))
		return err
	}
	if _, err = w.s.Write(ctx, store.Clone(k, from, info.Version), store.Sync); err == nil {
		w.noteDurable(key, string(value))
	}
	return err
}

// flush writes a value with Flush, which a power cut may damage.
func (w *world) flush(key, value string) error {
	for _, damaged := range []string{value, value[:min(4, len(value))], "", strings.Repeat("\x00", len(value))} {
		w.mayBecome(key, damaged)
	}
	_, err := w.s.Write(w.t.Context(), store.Put(store.MustKey(key), []byte(value)), store.Flush)
	return err
}

// cloneMany clones values to new keys and over others, and changes them and their clones.
func (w *world) cloneMany() error {
	return errors.Join(w.clone("x", "d/1", nil), w.clone("n/e/w", "x", nil), w.clone("x", "d/1", nil),
		w.put("x", "new x"), w.delete("d/1"), w.clone("d/2", "n/e/w", nil), w.clone("d/2", "d/2", nil), w.delete("n/e/w"))
}

// cloneBatch clones values that were written with Flush, in one batch, and commits.
func (w *world) cloneBatch() error {
	if err := w.flush("f/1", "of little worth"); err != nil {
		return err
	}
	b, err := w.s.Batch(w.t.Context(), store.Sync)
	if err != nil {
		return err
	}
	defer b.Discard()
	keys := []string{"x", "n/e/w", "e/f/1", "f/2"}
	for _, key := range keys {
		if err := w.clone(key, "f/1", b); err != nil {
			return err
		}
	}
	if err := b.Commit(w.t.Context()); err != nil {
		return err
	}
	for _, key := range keys {
		w.noteDurable(key, "of little worth")
	}
	return nil
}

// assemble makes a value of others and middle. If batch is not nil, it does so in the
// batch.
func (w *world) assemble(key, middle string, batch store.Batch, sources ...string) error {
	var parts []store.Part
	want := ""
	for _, source := range sources {
		value, info, err := w.s.Get(w.t.Context(), store.MustKey(source), store.Request{}, nil)
		if err != nil {
			return err
		}
		half := info.Size / 2
		parts = append(parts, store.Part{Key: store.MustKey(source), Version: info.Version, Off: half, N: info.Size - half},
			store.Part{Data: []byte(middle)}, store.Part{Key: store.MustKey(source), N: half})
		want += string(value[half:]) + middle + string(value[:half])
	}
	w.mayBecome(key, want)
	if batch != nil {
		_, err := batch.Write(w.t.Context(), store.Assemble(store.MustKey(key), parts))
		return err
	}
	_, err := w.s.Write(w.t.Context(), store.Assemble(store.MustKey(key), parts), store.Sync)
	if err == nil {
		w.noteDurable(key, want)
	}
	return err
}

// assembleBatch assembles and clones in one batch, and commits.
func (w *world) assembleBatch() error {
	b, err := w.s.Batch(w.t.Context(), store.Sync)
	if err != nil {
		return err
	}
	defer b.Discard()
	err = w.assemble("n/e/w", " and ", b, "x", "d/1", "d/2")
	if err == nil {
		err = w.assemble("x", "", b, "n/e/w", "x")
	}
	if err == nil {
		err = w.clone("d/2", "x", b)
	}
	if err == nil {
		err = b.Commit(w.t.Context())
	}
	if err != nil {
		return err
	}
	for _, key := range []string{"n/e/w", "x", "d/2"} {
		w.noteDurable(key, w.may[key][len(w.may[key])-1])
	}
	return nil
}

// gather makes a value of one of another store and middle. If batch is not nil, it does
// so in the batch.
func (w *world) gather(key, middle string, batch store.Batch, from store.Store) error {
	parts := []store.Part{part("a/k", 5, 5), {Data: []byte(middle)}, part("a/l", 0, 6), part("a/k", 0, 5)}
	want := "56789" + middle + "abcdef01234"
	w.mayBecome(key, want)
	if batch != nil {
		_, err := batch.Write(w.t.Context(), store.Gather(store.MustKey(key), from, parts))
		return err
	}
	_, err := w.s.Write(w.t.Context(), store.Gather(store.MustKey(key), from, parts), store.Sync)
	if err == nil {
		w.noteDurable(key, want)
	}
	return err
}

// gatherMany gathers from two kinds of stores, alone and in a batch.
func (w *world) gatherMany() error {
	files, memory := filestore.On(onWoven(w.t), nil), memstore.New()
	put(w.t, memory, "a/k", "0123456789")
	put(w.t, memory, "a/l", "abcdef")
	b, err := w.s.Batch(w.t.Context(), store.Sync)
	if err != nil {
		return err
	}
	defer b.Discard()
	err = errors.Join(
		w.gather("n/e/w", " from files ", nil, files), w.gather("x", "", nil, memory),
		w.gather("n/e/v", " files in a batch ", b, files), w.gather("d/1", " memory in a batch ", b, memory),
	)
	if err == nil {
		err = b.Commit(w.t.Context())
	}
	if err == nil {
		w.noteDurable("n/e/v", "56789 files in a batch abcdef01234")
		w.noteDurable("d/1", "56789 memory in a batch abcdef01234")
	}
	return err
}

// onSharing runs a script on a disk whose files can share bytes.
func onSharing(script func(w *world) error) func(w *world) error {
	return func(w *world) error {
		w.disk.Shares = true
		return script(w)
	}
}

func (w *world) delete(key string) error {
	w.mayBecome(key, gone)
	_, err := w.s.Write(w.t.Context(), store.Delete(store.MustKey(key)), store.Sync)
	if err == nil {
		w.noteDurable(key, gone)
	}
	return err
}

// batch writes values, and deletes those that are gone. If commit is set, it commits.
func (w *world) batch(values map[string]string, commit bool) error {
	ctx := w.t.Context()
	b, err := w.s.Batch(ctx, store.Sync)
	if err != nil {
		return err
	}
	defer b.Discard()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.mayBecome(key, values[key])
		if values[key] == gone {
			_, err = b.Write(ctx, store.Delete(store.MustKey(key)))
		} else {
			_, err = b.Write(ctx, store.Put(store.MustKey(key), []byte(values[key])))
		}
		if err != nil {
			return err
		}
	}
	if !commit {
		return nil
	}
	if err := b.Commit(ctx); err != nil {
		return err
	}
	for key, value := range values {
		w.noteDurable(key, value)
	}
	return nil
}

// batchIf is batch with conditions: no key may have changed since batchIf read its
// version.
func (w *world) batchIf(values map[string]string, commit bool) error {
	ctx := w.t.Context()
	b, err := w.s.Batch(ctx, store.Sync)
	if err != nil {
		return err
	}
	defer b.Discard()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		info, err := w.s.Stat(ctx, store.MustKey(key))
		cond := store.IfVersion(info.Version)
		if errors.Is(err, fs.ErrNotExist) {
			cond, err = store.IfAbsent(), nil
		}
		if err != nil {
			return err
		}
		w.mayBecome(key, values[key])
		if values[key] == gone {
			_, err = b.Write(ctx, store.DeleteIf(store.MustKey(key), cond.Version()))
		} else {
			_, err = b.Write(ctx, store.PutIf(store.MustKey(key), []byte(values[key]), cond))
		}
		if err != nil {
			return err
		}
	}
	if !commit {
		return nil
	}
	if err := b.Commit(ctx); err != nil {
		return err
	}
	for key, value := range values {
		w.noteDurable(key, value)
	}
	return nil
}

// conflicts makes every kind of conditional write fail. None changes anything.
func (w *world) conflicts() error {
	ctx, key, old := w.t.Context(), store.MustKey("d/1"), store.MakeVersion("old")
	b, err := w.s.Batch(ctx, store.Sync)
	if err != nil {
		return err
	}
	for _, err := range []error{
		errOf(b.Write(ctx, store.PutIf(key, []byte("no"), store.IfAbsent()))),
		errOf(b.Write(ctx, store.PutIf(key, []byte("no"), store.IfVersion(old)))),
		errOf(b.Write(ctx, store.Splice(key, old, []store.Part{{Data: []byte("no")}, {N: 1}}))),
		errOf(b.Write(ctx, store.Splice(store.MustKey("d/none"), old, nil))),
		errOf(b.Write(ctx, store.DeleteIf(key, old))),
		errOf(b.Write(ctx, store.DeleteIf(store.MustKey("d/none"), old))),
		errOf(w.s.Write(ctx, store.DeleteIf(store.MustKey("none/none"), old), store.Sync)),
		errOf(w.s.Write(ctx, store.Clone(store.MustKey("d/none"), key, old), store.Sync)),
		errOf(b.Write(ctx, store.Assemble(store.MustKey("d/none"), []store.Part{{Data: []byte("no")}, {Key: key, Version: old, N: 1}}))),
		errOf(b.Write(ctx, store.Clone(key, store.MustKey("d/none"), old))),
	} {
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return b.Commit(ctx)
}

// errOf returns the error of a change.
func errOf(_ store.Written, err error) error { return err }

// scripts are the programs that a power cut stops. The store has the values before.
var before = map[string]string{"x": "old x", "d/1": "old 1", "d/2": "old 2", "e/f/1": "deep"}

var scripts = map[string]func(w *world) error{
	"put in a new directory": func(w *world) error { return w.put("a/b/c", "new value") },
	"put over":               func(w *world) error { return w.put("x", "a longer new value") },
	"put several": func(w *world) error {
		return errors.Join(w.put("d/1", "new 1"), w.put("d/3", "new 3"), w.put("d/1", "newer 1"), w.put("g/h/1", "h"))
	},
	"put empty": func(w *world) error { return w.put("x", "") },
	"put if absent": func(w *world) error {
		return errors.Join(w.putIf("new/zarr.json", "{}", store.IfAbsent()), w.putIf("d/9", "nine", store.IfAbsent()))
	},
	"put if version": func(w *world) error {
		info, err := w.s.Stat(w.t.Context(), store.MustKey("x"))
		if err != nil {
			return err
		}
		return w.putIf("x", "new x, the second", store.IfVersion(info.Version))
	},
	"delete": func(w *world) error { return errors.Join(w.delete("d/1"), w.delete("e/f/1"), w.delete("none")) },
	"delete and put again": func(w *world) error {
		return errors.Join(w.delete("e/f/1"), w.put("e/f/1", "again"), w.put("e/g", "beside"))
	},
	"batch": func(w *world) error {
		return w.batch(map[string]string{"d/1": gone, "d/2": "new 2", "d/3": "new 3", "m/n/1": "1", "m/n/2": "2", "m/o": "o"}, true)
	},
	"batch that empties directories": func(w *world) error {
		return errors.Join(w.batch(map[string]string{"d/1": gone, "d/2": gone, "e/f/1": gone}, true), w.put("d/7", "seven"))
	},
	"conditional batch": func(w *world) error {
		return w.batchIf(map[string]string{"d/1": gone, "d/2": "new 2", "d/3": "new 3", "e/f/1": gone, "m/n/1": "1", "m/o": "o"}, true)
	},
	"conditional batch and again": func(w *world) error {
		return errors.Join(w.batchIf(map[string]string{"d/1": "new 1", "m/n/1": "1"}, true), w.batchIf(map[string]string{"d/1": gone, "m/n/1": gone}, true))
	},
	"delete if version": func(w *world) error {
		info, err := w.s.Stat(w.t.Context(), store.MustKey("e/f/1"))
		if err != nil {
			return err
		}
		w.mayBecome("e/f/1", gone)
		if _, err = w.s.Write(w.t.Context(), store.DeleteIf(store.MustKey("e/f/1"), info.Version), store.Sync); err == nil {
			w.noteDurable("e/f/1", gone)
		}
		return err
	},
	"splice": func(w *world) error { return w.splice("x", " and ", nil) },
	"splice twice": func(w *world) error {
		return errors.Join(w.splice("e/f/1", "", nil), w.splice("e/f/1", " again ", nil))
	},
	"splice and delete": func(w *world) error {
		return errors.Join(w.splice("e/f/1", " soon gone ", nil), w.delete("e/f/1"), w.put("e/f/2", "beside"))
	},
	"splice in a batch": func(w *world) error { return w.spliceBatch(" in a batch ") },
	"assemble": func(w *world) error {
		return errors.Join(w.assemble("n/e/w", "|", nil, "x", "d/1", "x"), w.assemble("x", "", nil, "d/1"), w.assemble("d/2", " ", nil, "d/2", "n/e/w"))
	},
	"assemble in a batch": (*world).assembleBatch,
	"gather":              (*world).gatherMany,
	"clone":               (*world).cloneMany,
	"clone of little worth": func(w *world) error {
		return errors.Join(w.flush("f/1", "of little worth"), w.clone("n/e/w", "f/1", nil), w.clone("x", "f/1", nil))
	},
	"clone in a batch":                 (*world).cloneBatch,
	"clone by shared bytes":            onSharing((*world).cloneMany),
	"clone by shared bytes in a batch": onSharing((*world).cloneBatch),
	"conflicts":                        func(w *world) error { return w.conflicts() },
	"put beside an open conditional batch": func(w *world) error {
		return errors.Join(w.batchIf(map[string]string{"p/q/1": "one"}, false), w.put("p/q/2", "two"))
	},
	// The batch made a directory whose name nobody has made durable: a put that does not
	// make it itself has to.
	"put beside an open batch": func(w *world) error {
		return errors.Join(w.batch(map[string]string{"p/q/1": "one"}, false), w.put("p/q/2", "two"))
	},
}

// newWorld returns a disk that durably has the values before, and a world on it whose
// operations call hook.
func newWorld(t *testing.T, hook func(vfs.Op) error) (*world, *vfs.Disk) {
	disk := vfs.NewDisk()
	w := &world{t, filestore.On(disk, nil), map[string][]string{}, disk}
	for key, value := range before {
		if err := w.put(key, value); err != nil {
			t.Fatal(err)
		}
	}
	w.s = filestore.On(vfs.Hook(disk, hook), nil)
	return w, disk
}

// TestCrash stops the machine before every operation of every script, and checks all
// disks that the power cut may leave.
func TestCrash(t *testing.T) {
	racing.Skip(t)
	const leastPoints, leastImages, random = 1600, 140_000, 80
	points, images := 0, 0
	for name, script := range scripts {
		checked := map[string]*vfs.Checked{} // by the values that keys may have
		for k := int64(0); ; k++ {
			hook, stopped := vfs.StopAt(k)
			w, disk := newWorld(t, hook)
			err := script(w)
			may := fmt.Sprint(w.may)
			if checked[may] == nil {
				checked[may] = &vfs.Checked{}
			}
			if stopped() != errors.Is(err, vfs.ErrStopped) && err != nil {
				t.Fatalf("%s, stopped before operation %d: %v", name, k, err)
			}
			points++
			for label, image := range disk.Images(uint64(k), random) {
				images++
				if !checked[may].First(image, 0) {
					continue
				}
				w.check(fmt.Sprintf("%s, stopped before operation %d, %s", name, k, label), image)
			}
			if !stopped() {
				break
			}
		}
	}
	t.Logf("%d crash points, %d images", points, images)
	if points < leastPoints || images < leastImages {
		t.Errorf("%d crash points and %d images, want at least %d and %d", points, images, leastPoints, leastImages)
	}
}

// check checks that every key of a disk has one of the values that it may have, that
// there are no other keys, and that the store can be written to.
func (w *world) check(label string, image *vfs.Disk) {
	w.t.Helper()
	s := filestore.On(image, nil)
	for key, may := range w.may {
		if got := valueOf(w.t, s, key); !slices.Contains(may, got) {
			w.t.Errorf("%s: %s is %q, want one of %q", label, key, got, may)
		}
	}
	for _, name := range names(w.t, s) {
		if w.may[name] == nil {
			w.t.Errorf("%s: %s appears", label, name)
		}
	}
	for key := range w.may {
		if _, err := s.Write(w.t.Context(), store.Put(store.MustKey(key), []byte("after")), store.Sync); err != nil {
			w.t.Errorf("%s: writing afterwards: %v", label, err)
		}
	}
}

// valueOf returns the value at key, or gone.
func valueOf(t *testing.T, s store.Store, key string) string {
	got, err := get(t, s, key)
	if errors.Is(err, fs.ErrNotExist) {
		return gone
	}
	if err != nil {
		t.Errorf("reading %s: %v", key, err)
	}
	return got
}

// TestFlushOrder checks that a value put with Flush is whole for readers, before any
// power cut.
func TestFlushOrder(t *testing.T) {
	for k, more := int64(0), true; more; k++ {
		hook, stopped := vfs.StopAt(k)
		w, disk := newWorld(t, hook)
		_, err := w.s.Write(t.Context(), store.Put(store.MustKey("x"), []byte("new x")), store.Flush)
		got := valueOf(t, filestore.On(disk, nil), "x")
		if got != "new x" && (err == nil || got != "old x") {
			t.Errorf("killed before operation %d: x is %q after error %v", k, got, err)
		}
		more = stopped()
	}
}

// TestFaults fails every operation of every script once.
func TestFaults(t *testing.T) {
	const leastFaults = 6300
	faults := 0
	for name, script := range scripts {
		for _, fault := range []error{syscall.ENOSPC, syscall.EIO, syscall.EACCES, syscall.EMFILE} {
			for i := int64(0); ; i++ {
				hook, failed := vfs.FailAt(i, fault)
				var at vfs.Op
				w, disk := newWorld(t, func(op vfs.Op) error {
					err := hook(op)
					if err != nil {
						at = op
					}
					return err
				})
				err := script(w)
				if !failed() {
					if err != nil {
						t.Fatalf("%s without a fault: %v", name, err)
					}
					break
				}
				faults++
				w.checkFault(fmt.Sprintf("%s with %v at %v", name, fault, at), err, fault, at, disk)
			}
		}
	}
	t.Logf("%d faults", faults)
	if faults < leastFaults {
		t.Errorf("%d faults, want at least %d", faults, leastFaults)
	}
}

func (w *world) checkFault(label string, err, fault error, at vfs.Op, disk *vfs.Disk) {
	w.t.Helper()
	if err != nil && !errors.Is(err, fault) {
		w.t.Errorf("%s: error is %v", label, err)
	}
	if broken := errors.Is(err, store.ErrDurability); broken != (at.Kind == "sync") {
		w.t.Errorf("%s: error is %v, want %v after a failed sync only", label, err, store.ErrDurability)
	}
	if at.Kind == "sync" {
		w.refuses(label)
	}
	for dir := range w.may {
		dir, _, _ = strings.Cut(dir, "/")
		for e, err := range disk.ReadDir(dir) {
			if err == nil && strings.HasPrefix(e.Name(), "__tmp-") && at.Kind != "remove" {
				w.t.Errorf("%s: %s/%s is left", label, dir, e.Name())
			}
		}
	}
	w.check(label, disk)
}

// refuses checks that a store refuses writes after a failed sync, but still reads.
func (w *world) refuses(label string) {
	w.t.Helper()
	ctx, key := w.t.Context(), store.MustKey("x")
	_, err := w.s.Write(ctx, store.Put(key, nil), store.Flush)
	_, err2 := w.s.Write(ctx, store.PutIf(key, nil, store.IfAbsent()), store.Flush)
	_, err3 := w.s.Batch(ctx, store.Flush)
	_, err4 := w.s.Write(ctx, store.Splice(key, store.Version{}, nil), store.Flush)
	_, err6 := w.s.Write(ctx, store.Assemble(key, nil), store.Flush)
	_, err7 := w.s.Write(ctx, store.Gather(key, memstore.New(), nil), store.Flush)
	_, err5 := w.s.Write(ctx, store.Clone(key, key, store.Version{}), store.Flush)
	for _, err := range []error{err, err2, err3, err4, err5, err6, err7, errOf(w.s.Write(ctx, store.Delete(key), store.Sync))} {
		if !errors.Is(err, store.ErrDurability) {
			w.t.Errorf("%s: a later write says %v, want %v", label, err, store.ErrDurability)
		}
	}
	if _, err := get(w.t, w.s, "x"); err != nil {
		w.t.Errorf("%s: a later read says %v", label, err)
	}
}

// TestFailedWriteKeepsOld fails every operation of one put before its rename: the old
// value stays.
func TestFailedWriteKeepsOld(t *testing.T) {
	for i := int64(0); ; i++ {
		hook, failed := vfs.FailAt(i, syscall.ENOSPC)
		renamed := false
		w, disk := newWorld(t, func(op vfs.Op) error {
			err := hook(op)
			renamed = renamed || op.Kind == "rename" && err == nil
			return err
		})
		err := w.put("x", "new x")
		want := "old x"
		if renamed {
			want = "new x"
		}
		if got := valueOf(t, filestore.On(disk, nil), "x"); got != want || err == nil && !renamed {
			t.Errorf("fault at operation %d: x is %q, want %q; error is %v", i, got, want, err)
		}
		if !failed() {
			return
		}
	}
}
