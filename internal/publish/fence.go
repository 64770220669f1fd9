package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"varve.dev/zarr/store"
)

// fence is the run of a writer in a store that has no locks but conditional writes.
// Others may be at work on the same document, so that no key of a new region is its own
// until the document is published:
//
//   - A new chunk is written if nothing is under its key.
//   - Where something is, or where a chunk is to be changed that the published document describes, the writer raises its
//     fence first: it rewrites the document, on the condition that it is still the one that was planned on, with one more
//     newline at its end. That makes every other plan on that document fail when it publishes. Then, object by
//     object, it reads the version, sees that the fence still stands, and overwrites on the condition that the version is still that one.
//   - What is under a key may also be of a plan on the fenced document. Where all plans that put a chunk begin with one
//     and the same (the witness), there is only one that could write it without raising a fence of its own, so one fence is
//     enough. Elsewhere the fence is raised again for every such object.
//   - A fence whose answer is lost may be that of another writer, who is then about to overwrite what this one has put: all is
//     planned anew.
//   - The document is published on the condition that the fence stands, or where none was needed that the document is still the
//     one that was read.
//
// Nothing is deleted before the document is published: others would take a missing chunk
// for one that nobody has. A chunk of fill values is stored instead.
//
// Newlines are counted up to [generations], also from one published document to the next,
// so that no document soon has the bytes of an earlier one, which stores whose versions
// are hashes could not tell apart. Of chunks they cannot tell that they were written
// again with the same bytes. There it must not happen that a writer has raised its fence,
// and what it overwrites then takes longer than another one needs to plan, write and
// publish twice.
type fence struct {
	Node
	change *Change

	mu       sync.Mutex
	document Document // as it is now, for all this writer knows
	raised   bool
	claimed  bool // the witness is ours
}

// generations is how many numbers of newlines a document may end in.
const generations = 64

// fenceTries is how often a writer tries to find out what became of a write whose answer
// was lost.
const fenceTries = 8

func newFence(n Node, old Document, c *Change) *fence {
	return &fence{Node: n, document: old, change: c}
}

func (f *fence) stage(ctx context.Context, c *Change) error {
	if c.Stage == nil {
		return nil
	}
	err := c.Stage(ctx, staging{f})
	if err == nil || errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
		return err
	}
	// What another writer has published meanwhile may be why chunks are not as the plan
	// expects them.
	if info, lookErr := store.Stat(ctx, f.Store, f.key()); lookErr == nil && info.Version != f.present() {
		return fmt.Errorf("%w while chunks were written: %w", store.ErrConflict, err)
	}
	return err
}

// present returns the version of the document as far as this writer knows.
func (f *fence) present() store.Version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.document.Version
}

func (f *fence) secure(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.raise(ctx)
}

// staging is what chunks of a new region are written with.
type staging struct{ f *fence }

// Put stores a chunk that the document as it was read does not describe.
func (s staging) Put(ctx context.Context, key store.Key, value []byte) error {
	f := s.f
	_, err := f.putIf(ctx, key, value, store.IfAbsent())
	if errors.Is(err, store.ErrConflict) {
		err = f.overwrite(ctx, key, value)
	}
	return f.claim(key, err)
}

// claim notes that a chunk is ours unless putting it failed.
func (f *fence) claim(key store.Key, err error) error {
	if err == nil && key == f.change.Witness {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.claimed = true
	}
	return err
}

// overwrite replaces what is under the key of a new chunk, once nobody can publish it.
func (f *fence) overwrite(ctx context.Context, key store.Key, value []byte) error {
	info, err := store.Stat(ctx, f.Store, key)
	if err != nil {
		return gone(err, key)
	}
	if err := f.stand(ctx, key); err != nil {
		return err
	}
	_, err = f.putIf(ctx, key, value, store.IfVersion(info.Version))
	return err
}

// PutIf changes a chunk that the document describes, which was read as the condition
// says.
func (s staging) PutIf(ctx context.Context, key store.Key, value []byte, c store.Condition) error {
	f := s.f
	if !c.Absent() {
		if err := f.stand(ctx, key); err != nil {
			return err
		}
	}
	_, err := f.putIf(ctx, key, value, c)
	return f.claim(key, err)
}

// Delete is refused: see [fence].
func (s staging) Delete(context.Context, store.Key) error {
	return fmt.Errorf("%w: deleting before others know", store.ErrUnsupported)
}

// DeleteIf is refused: see [fence].
func (s staging) DeleteIf(context.Context, store.Key, store.Version) error {
	return fmt.Errorf("%w: deleting before others know", store.ErrUnsupported)
}

// Commit does nothing: every write stands alone.
func (s staging) Commit(context.Context) error { return nil }

// Discard does nothing: every write stands alone.
func (s staging) Discard() {}

// putIf writes a value and returns its version. A store that cannot say what it wrote
// cannot be fenced.
func (f *fence) putIf(ctx context.Context, key store.Key, value []byte, c store.Condition) (store.Version, error) {
	version, err := store.PutIf(ctx, f.Store, key, value, c, f.Durability)
	if errors.Is(err, store.ErrUnsupported) {
		err = fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	return version, err
}

// stand makes sure that no other plan on the document can be published any more, once the
// version of the object under the key is known. The fence that stands is enough where
// that cannot be of a plan on the fenced document.
func (f *fence) stand(ctx context.Context, key store.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.raised || !f.claimed || f.change.Guarded == nil || !f.change.Guarded(key) {
		return f.raise(ctx)
	}
	info, err := store.Stat(ctx, f.Store, f.key())
	if err == nil && info.Version != f.document.Version {
		err = fmt.Errorf("%w: another writer has begun a change", store.ErrConflict)
	}
	return err
}

// raise rewrites the document with other white space at its end. Where the answer is lost
// and the document is another one, that may be the fence of somebody else.
func (f *fence) raise(ctx context.Context) error {
	var err error
	for range fenceTries {
		document := next(f.document.Bytes, f.document.Bytes)
		version, putErr := f.putIf(ctx, f.key(), document, store.IfVersion(f.document.Version))
		if putErr == nil {
			f.document, f.raised = Document{document, version}, true
			return nil
		}
		if err = putErr; errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnsupported) || ctx.Err() != nil {
			return err
		}
		info, lookErr := store.Stat(ctx, f.Store, f.key())
		if lookErr != nil {
			return errors.Join(err, lookErr)
		}
		if info.Version != f.document.Version {
			return fmt.Errorf("%w: another writer may have begun a change: %w", store.ErrConflict, err)
		}
	}
	return err
}

func (f *fence) publish(ctx context.Context, document []byte) (store.Version, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	document = next(document, f.document.Bytes)
	version, err := f.putIf(ctx, f.key(), document, store.IfVersion(f.document.Version))
	if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnsupported) {
		version, err = f.settle(context.WithoutCancel(ctx), document, err)
	}
	if err == nil {
		f.document, f.raised, f.claimed = Document{document, version}, true, false
	}
	return version, err
}

// settle finds out what became of the document where the answer to its write is lost. It
// may still be on its way: it is known not to be published once the document is another
// one than it was written for. It is known to be published where it is there, newlines
// included: who else plans on the same document and writes the witness has raised a fence
// more. A later document tells nothing, since a rival may have put the same elements
// first.
func (f *fence) settle(ctx context.Context, document []byte, lost error) (store.Version, error) {
	for range fenceTries {
		there, err := f.read(ctx)
		switch {
		case err != nil:
			return store.Version{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, errors.Join(lost, err))
		case there.Version == f.document.Version:
			if f.raise(ctx) == nil { // now it can not be published any more
				return store.Version{}, fmt.Errorf("%w: %w", store.ErrConflict, lost)
			}
		case same(there.Bytes, f.document.Bytes):
			return store.Version{}, fmt.Errorf("%w: %w", store.ErrConflict, lost)
		case bytes.Equal(there.Bytes, document):
			return there.Version, nil
		default:
			return store.Version{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, lost)
		}
	}
	return store.Version{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, lost)
}

// reclaim deletes and clears chunks that the published document does not describe.
func (f *fence) reclaim(ctx context.Context, c *Change) error {
	var err error
	for _, work := range [...]func(context.Context, store.Batch) error{c.Reclaim, c.Tidy} {
		b := &reclaiming{staging: staging{f}}
		if work != nil && err == nil {
			err = work(ctx, b)
		}
		if err == nil {
			err = b.flush(ctx)
		}
	}
	if errors.Is(err, store.ErrConflict) {
		return nil // another writer goes on: what is left is not visible, and is dealt with when its place is written to
	}
	return err
}

// reclaiming is what chunks are deleted with that the published document does not
// describe. Another writer may be about to write under their keys, so they are looked at
// first; then the fence is raised; then those are deleted that have not changed.
type reclaiming struct {
	staging
	pending []object
}

// object is one version of what is under a key.
type object struct {
	key     store.Key
	version store.Version
}

// mostPending is how many objects are deleted under one fence.
const mostPending = 1024

// Delete remembers what is under the key, and deletes many at a time.
func (b *reclaiming) Delete(ctx context.Context, key store.Key) error {
	if _, ok := store.As[store.ConditionalDeleter](b.f.Store); !ok {
		return nil // nothing is visible of what stays
	}
	info, err := store.Stat(ctx, b.f.Store, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if b.pending = append(b.pending, object{key, info.Version}); len(b.pending) < mostPending {
		return nil
	}
	return b.flush(ctx)
}

func (b *reclaiming) flush(ctx context.Context) error {
	if len(b.pending) == 0 {
		return nil
	}
	pending := b.pending
	b.pending = nil
	if err := b.f.stand(ctx, store.Key{}); err != nil {
		return err
	}
	for _, o := range pending {
		err := store.DeleteIf(ctx, b.f.Store, o.key, o.version)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// Fenced reports whether a batch of [Change.Stage] is that of a writer whom only a fence
// keeps apart from others: every chunk of a new region has to be put then, also one of
// fill values.
func Fenced(b store.Batch) bool {
	_, ok := b.(staging)
	return ok
}

// next returns the document with one newline more at its end than the old one has.
func next(document, old []byte) []byte {
	n := (len(old) - len(bytes.TrimRight(old, "\n")) + 1) % generations
	document = bytes.TrimRight(document, "\n")
	return append(document[:len(document):len(document)], bytes.Repeat([]byte{'\n'}, n)...)
}

// same reports whether two documents differ in nothing but the newlines at their end.
func same(a, b []byte) bool { return bytes.Equal(bytes.TrimRight(a, "\n"), bytes.TrimRight(b, "\n")) }

// gone says that an object which was there a moment ago is not there any more.
func gone(err error, key store.Key) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s was deleted meanwhile", store.ErrConflict, key)
	}
	return err
}
