// SPDX-License-Identifier: Apache-2.0

// Package storetest is the conformance suite for drivers of package store.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return mystore.New() })
//	}
//
// Every opened store must be empty. A read-only store (it is not a [store.Writer], or
// refuses writes with [fs.ErrPermission]) must hold [Fixture] instead; the suite only
// reads it. If a store lacks a power, the suite checks that it returns
// [store.ErrUnsupported].
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	{"ListVersions", checkListVersions},
	{"Cancelled", checkCancelledRead},
	{"ConcurrentRead", checkConcurrentRead},
}

// writing are the checks of an empty store that can be written to.
var writing = []check{
	{"Put", checkPut},
	{"Can", checkCan},
	{"WeirdKeys", checkWeirdKeys},
	{"LargeValue", checkLargeValue},
	{"Versions", checkVersions},
	{"ChangedVersions", checkChangedVersions},
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
	{"Clone", checkClone},
	{"CloneBatch", checkCloneBatch},
	{"CloneRaces", checkCloneRaces},
	{"Assemble", checkAssemble},
	{"AssembleBatch", checkAssembleBatch},
	{"AssembleRaces", checkAssembleRaces},
	{"Room", checkRoom},
	{"Gather", checkGather},
	{"Model", checkModel},
	{"Lock", checkLock},
	{"PutIfBelowLock", checkPutIfBelowLock},
	{"CancelledWrite", checkCancelledWrite},
	{"ConcurrentReadWrite", checkConcurrentReadWrite},
}

// Exception is a promise of package store that a store of some kind cannot keep. The
// suite then checks what holds instead.
type Exception string

// HashedVersions is the exception of stores whose versions are hashes of the content,
// such as ETags. A Put of the bytes that a key has may keep the version, and a value that
// was deleted and written again has its old version. A PutIf on the condition of a
// version still changes it, even if the bytes stay.
const HashedVersions Exception = "versions are hashes of the content"

// Run runs the suite. Every check is a subtest with a store of its own.
func Run(t *testing.T, open func(t *testing.T) store.Store, except ...Exception) {
	each(func(c check, fixture bool) {
		t.Run(c.name, func(t *testing.T) {
			for _, err := range c.try(t.Context(), open(t), fixture, except) {
				t.Error(err)
			}
		})
	})
}

// Test runs the suite without package testing, for commands that check a user's store. It
// returns all failures as one error. It closes each store that is an [io.Closer].
func Test(open func() (store.Store, error), except ...Exception) error {
	var errs []error
	each(func(c check, fixture bool) {
		s, err := open()
		if err != nil {
			errs = append(errs, fmt.Errorf("storetest: opening a store for %s: %w", c.name, err))
			return
		}
		for _, err := range c.try(context.Background(), s, fixture, except) {
			errs = append(errs, fmt.Errorf("storetest: %s: %w", c.name, err))
		}
		if closer, ok := s.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
	})
	return errors.Join(errs...)
}

// each calls f with every check, and whether the check starts from [Fixture].
func each(f func(c check, fixture bool)) {
	for _, c := range reading {
		f(c, true)
	}
	for _, c := range writing {
		f(c, false)
	}
}

// try runs c on s and returns its failures.
func (c check) try(ctx context.Context, s store.Store, fixture bool, except []Exception) []error {
	p := &probe{ctx: ctx, s: s, hashed: slices.Contains(except, HashedVersions)}
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

// checkRoom checks that a store tells how much room it has, also below a directory that
// does not exist, or says that it does not know.
func checkRoom(p *probe) {
	for _, dir := range []store.Path{{}, store.MustKey("new/deep/x").Dir()} {
		room, err := store.DirectoriesOf(p.s).Room(dir)
		switch {
		case err != nil && !errors.Is(err, store.ErrUnsupported):
			p.errorf("Room(%q): %v", dir, err)
		case err == nil && room.Free < 0:
			p.errorf("Room(%q) has %d bytes", dir, room.Free)
		}
	}
	for e, err := range store.List(p.ctx, p.s, store.Path{}, store.Deep) {
		if err == nil {
			p.errorf("Room has made %s", e.Name)
		}
	}
}
