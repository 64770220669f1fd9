// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"sync/atomic"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

// process is the view that one of several programs has of an object store. Writers of
// one key in one process exclude each other, so each program here gets keys of its own:
// "program…/x" is the shared key "x". No other key exists.
type process struct {
	direct, stepped storetest.ObjectStore
	begun           atomic.Bool           // until it is set, no operation waits for its turn
	quiet           func(key string) bool // reports keys that are never written; reading them waits for no turn
	name            string                // of the program; paths in journals contain it
	repeats         bool                  // its driver repeats writes whose answer is lost
}

// programPrefix is the start of all program names.
const programPrefix = "program"

// inside returns the shared name of a key. It returns false if the key is in no program.
func inside(name string) (string, bool) {
	first, rest, _ := strings.Cut(name, "/")
	return rest, strings.HasPrefix(first, programPrefix)
}

// at returns the store to use and the shared key.
func (p *process) at(key store.Key, reads bool) (storetest.ObjectStore, store.Key, error) {
	name, ok := inside(key.String())
	if !ok {
		return nil, key, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	if !p.begun.Load() || reads && p.quiet != nil && p.quiet(name) {
		return p.direct, store.MustKey(name), nil
	}
	return p.stepped, store.MustKey(name), nil
}

func (p *process) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s, key, err := p.at(key, true)
	if err != nil {
		return nil, store.Info{}, err
	}
	out, info, err := s.Get(ctx, key, q, dst)
	if err == nil && isJournal(key) {
		out = bytes.ReplaceAll(out, []byte(anyProgram), []byte(p.name+"/"))
	}
	return out, info, err
}

// anyProgram replaces the name of the program in shared journals.
const anyProgram = "@program/"

func isJournal(key store.Key) bool { return strings.Contains(key.String(), "__varve/") }

// common returns a value in its shared form.
func (p *process) common(key store.Key, value []byte) []byte {
	if isJournal(key) {
		return bytes.ReplaceAll(value, []byte(p.name+"/"), []byte(anyProgram))
	}
	return value
}

func (p *process) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	s, key, err := p.at(key, true)
	if err != nil {
		return store.Info{}, err
	}
	return s.Stat(ctx, key)
}

func (p *process) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	s, key, err := p.at(key, false)
	if err != nil {
		return store.Version{}, err
	}
	return s.Put(ctx, key, p.common(key, value), d)
}

func (p *process) PutIf(ctx context.Context, key store.Key, value []byte, c store.Condition, d store.Durability) (store.Version, error) {
	s, key, err := p.at(key, false)
	if err != nil {
		return store.Version{}, err
	}
	return p.repeat(c, func() (store.Version, error) { return s.PutIf(ctx, key, p.common(key, value), c, d) })
}

// attempts is how often a driver makes a request.
const attempts = 3

// repeat makes attempts of a write, as the driver of an object store does: on the same
// condition, as long as the answer is lost. A conflict after a lost answer tells nothing.
func (p *process) repeat(c store.Condition, write func() (store.Version, error)) (v store.Version, err error) {
	var lost error
	for range attempts {
		v, err = write()
		if err == nil || !isFault(err) || !p.repeats || c.IsOnce() {
			break
		}
		lost = err
	}
	if errors.Is(err, store.ErrConflict) && lost != nil {
		return v, fmt.Errorf("%w, and then: %v", lost, err)
	}
	return v, err
}

func (p *process) Delete(ctx context.Context, key store.Key) error {
	s, key, err := p.at(key, false)
	if err != nil {
		return err
	}
	return s.Delete(ctx, key)
}

func (p *process) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	s, key, err := p.at(key, false)
	if err != nil {
		return err
	}
	return s.DeleteIf(ctx, key, v)
}

func (p *process) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	name, ok := inside(dir.String())
	to, err := store.ParsePath(name)
	if !ok || err != nil {
		return func(func(store.Entry, error) bool) {}
	}
	if !p.begun.Load() || p.quiet != nil && p.quiet(name) {
		return p.direct.List(ctx, to, deep)
	}
	return p.stepped.List(ctx, to, deep)
}
