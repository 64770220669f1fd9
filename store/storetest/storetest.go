// Package storetest is the conformance suite for drivers of package store.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return mystore.New() })
//	}
//
// Every opened store must be empty. A store that cannot be written to (it is not a
// [store.Writer], or refuses with [fs.ErrPermission]) must hold [Fixture] instead, and is
// tested by reading alone. If a store lacks a power, the suite checks that it reports
// [store.ErrUnsupported].
//
// # Tests of programs that use a store
//
// [Conditional] is a small object store whose operations a test can fail, lose and delay.
// [Stepper] runs several clients of one in an order that the test decides, and [Explore]
// tries all orders:
//
//	storetest.Explore(func(choose func(n int) int) bool {
//		st := storetest.NewStepper(memstore.New())
//		defer st.Close()
//		st.Start(first)
//		st.Start(second)
//		st.Finish(choose, 2)
//		return check(st)
//	})
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"varve.dev/zarr/store"
)

// check is one subtest.
type check struct {
	name string
	run  func(p *probe)
}

// reading are the checks of a store that holds [Fixture].
var reading = []check{
	{"Basic", checkBasic},
	{"Missing", checkMissing},
	{"Ranges", checkRanges},
	{"Append", checkAppend},
	{"Open", checkOpen},
	{"Stat", checkStat},
	{"List", checkList},
	{"Cancelled", checkCancelledRead},
	{"ConcurrentRead", checkConcurrentRead},
}

// writing are the checks of an empty store that can be written to.
var writing = []check{
	{"Put", checkPut},
	{"WeirdKeys", checkWeirdKeys},
	{"LargeValue", checkLargeValue},
	{"Versions", checkVersions},
	{"Modified", checkModified},
	{"Pinned", checkPinned},
	{"Conditional", checkConditional},
	{"Increments", checkIncrements},
	{"Batch", checkBatch},
	{"ConditionalBatch", checkConditionalBatch},
	{"Delete", checkDelete},
	{"DeleteIf", checkDeleteIf},
	{"DeleteTree", checkDeleteTree},
	{"ConditionalRaces", checkConditionalRaces},
	{"Splice", checkSplice},
	{"SpliceBatch", checkSpliceBatch},
	{"SpliceRaces", checkSpliceRaces},
	{"Patch", checkPatch},
	{"PatchRaces", checkPatchRaces},
	{"Copy", checkCopy},
	{"Lock", checkLock},
	{"PutIfBelowLock", checkPutIfBelowLock},
	{"CancelledWrite", checkCancelledWrite},
	{"ConcurrentReadWrite", checkConcurrentReadWrite},
}

// Run runs the suite. Every check is a subtest with a store of its own.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	each(func(c check, fixture bool) {
		t.Run(c.name, func(t *testing.T) {
			for _, err := range c.try(t.Context(), open(t), fixture) {
				t.Error(err)
			}
		})
	})
}

// Test runs the suite without package testing, for commands that check a user's store. It
// returns all failures as one error. It closes each store that is an [io.Closer].
func Test(open func() (store.Store, error)) error {
	var errs []error
	each(func(c check, fixture bool) {
		s, err := open()
		if err != nil {
			errs = append(errs, fmt.Errorf("storetest: opening a store for %s: %w", c.name, err))
			return
		}
		for _, err := range c.try(context.Background(), s, fixture) {
			errs = append(errs, fmt.Errorf("storetest: %s: %w", c.name, err))
		}
		if closer, ok := s.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
	})
	return errors.Join(errs...)
}

// each calls f with every check, and says whether it starts from [Fixture].
func each(f func(c check, fixture bool)) {
	for _, c := range reading {
		f(c, true)
	}
	for _, c := range writing {
		f(c, false)
	}
}

// try runs c on s and returns its failures.
func (c check) try(ctx context.Context, s store.Store, fixture bool) []error {
	p := &probe{ctx: ctx, s: s}
	canWrite := p.canWrite()
	switch {
	case fixture && canWrite:
		for name, value := range Fixture() {
			p.put(name, value)
		}
	case !fixture && !canWrite:
		p.refusesWrites()
		return p.errs
	}
	c.run(p)
	return p.errs
}

// Fixture returns the values that a store that cannot be written to must hold for [Run]
// and [Test].
func Fixture() map[string][]byte {
	return map[string][]byte{
		"zarr.json":     []byte(`{"zarr_format":3,"node_type":"group"}`),
		"ab":            []byte("sibling of a directory"),
		"a/b":           []byte("below a directory"),
		"a/zarr.json":   []byte("{}"),
		"a/c/0/0":       bytes.Repeat([]byte("0123456789"), 40),
		"a/c/0/1":       {0},
		"a/c/1/0":       {},
		"a.b/c":         []byte("a dot sorts before a slash"),
		"deep/1/2/3/4":  []byte("deep"),
		"space in/a ü☃": []byte("words"),
	}
}

// probe is one check in progress: a store and the failures so far.
type probe struct {
	ctx  context.Context
	s    store.Store
	errs []error
}

func (p *probe) errorf(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// is records a failure unless err wraps want. A nil want means no error.
func (p *probe) is(err, want error, format string, args ...any) {
	if !errors.Is(err, want) {
		p.errorf("%s: error is %v, want %v", fmt.Sprintf(format, args...), err, want)
	}
}

// canWrite tries a write that cannot happen, because its context has ended.
func (p *probe) canWrite() bool {
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	_, err := store.Put(ctx, p.s, store.MustKey("probe"), nil, store.Flush)
	return !errors.Is(err, store.ErrUnsupported) && !errors.Is(err, fs.ErrPermission)
}

// refusesWrites checks that a read-only store refuses every kind of write.
func (p *probe) refusesWrites() {
	key := store.MustKey("probe")
	_, err := store.Put(p.ctx, p.s, key, nil, store.Sync)
	p.refused(err, "Put")
	_, err = store.PutIf(p.ctx, p.s, key, nil, store.IfAbsent(), store.Sync)
	p.refused(err, "PutIf")
	_, err = store.Splice(p.ctx, p.s, key, store.Version{}, nil, store.Sync)
	p.refused(err, "Splice")
	_, err = store.PatchValue(p.ctx, p.s, key, store.Version{}, nil, store.Sync)
	p.refused(err, "PatchValue")
	p.refused(store.Delete(p.ctx, p.s, key), "Delete")
	p.refused(store.DeleteIf(p.ctx, p.s, key, store.Version{}), "DeleteIf")
	b, err := store.NewBatch(p.ctx, p.s, store.Sync)
	if err == nil {
		err = b.Put(p.ctx, key, nil)
		b.Discard()
	}
	p.refused(err, "NewBatch")
	if b, err = store.NewBatch(p.ctx, p.s, store.Sync); err == nil {
		p.refused(store.BatchPutIf(p.ctx, b, key, nil, store.IfAbsent()), "PutIf in a batch")
		p.refused(store.BatchSplice(p.ctx, b, key, store.Version{}, nil), "Splice in a batch")
		p.refused(store.BatchPatch(p.ctx, b, key, store.Version{}, nil), "Patch in a batch")
		b.Discard()
	}
	if _, err := store.Stat(p.ctx, p.s, key); !errors.Is(err, fs.ErrNotExist) {
		p.errorf("after refused writes: error is %v, want %v", err, fs.ErrNotExist)
	}
}

func (p *probe) refused(err error, what string) {
	if !errors.Is(err, store.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		p.errorf("%s: error is %v, want %v or %v", what, err, store.ErrUnsupported, fs.ErrPermission)
	}
}

// lacks reports whether the store lacks the named power, and checks that err, from a
// function of package store, says so.
func (p *probe) lacks(ok bool, err error, power string) bool {
	if !ok {
		p.is(err, store.ErrUnsupported, "%s", power)
	}
	return !ok
}

// put writes a value with Flush, which keeps the suite fast. Sync has checks of its own.
func (p *probe) put(name string, value []byte) store.Version {
	v, err := store.Put(p.ctx, p.s, store.MustKey(name), value, store.Flush)
	p.is(err, nil, "Put %q", name)
	return v
}

// get reads a whole value.
func (p *probe) get(name string) ([]byte, store.Info, error) {
	return p.s.Get(p.ctx, store.MustKey(name), store.Request{}, nil)
}

// holds checks the value at name.
func (p *probe) holds(name string, want []byte) {
	got, info, err := p.get(name)
	switch {
	case err != nil:
		p.errorf("Get %q: %w", name, err)
	case !bytes.Equal(got, want):
		p.errorf("Get %q: %s, want %s", name, brief(got), brief(want))
	case info.Size != int64(len(want)):
		p.errorf("Get %q: size is %d, want %d", name, info.Size, len(want))
	}
}

// absent checks that name has no value.
func (p *probe) absent(name string) {
	got, _, err := p.get(name)
	p.is(err, fs.ErrNotExist, "Get %q", name)
	if got != nil {
		p.errorf("Get %q: bytes along with an error", name)
	}
	exists, err := store.Exists(p.ctx, p.s, store.MustKey(name))
	p.is(err, nil, "Exists %q", name)
	if exists {
		p.errorf("Exists %q: true, want false", name)
	}
}

// brief describes bytes in a message.
func brief(b []byte) string {
	if len(b) <= 40 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%q… (%d bytes)", b[:40], len(b))
}
