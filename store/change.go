// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"io"
	"math"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
)

// Op is a kind of change.
type Op uint8

const (
	// OpPut stores Value at Key.
	OpPut Op = iota + 1
	// OpPutIf stores Value at Key on the condition If. The check and the write are one
	// atomic step. If the condition does not hold, the error is [ErrConflict].
	OpPutIf
	// OpDelete deletes the value at Key. A key without a value is not an error.
	OpDelete
	// OpDeleteIf deletes the value at Key if it is of the version of If, in one atomic
	// step. If the value is of another version, or there is none, the error is
	// [ErrConflict]. A driver whose service turns out not to check conditions returns
	// [ErrUnsupported]. If versions are hashes of the content, the driver does not repeat
	// a deletion after a lost answer.
	OpDeleteIf
	// OpSplice builds the value at Key from new bytes and parts of its present version,
	// without moving the old bytes through the program. It is atomic as OpPutIf is. If
	// the value is not of the version of If, or does not exist, the error is
	// [ErrConflict].
	OpSplice
	// OpPatch overwrites bytes within the value at Key, in place and in the order of
	// Patches. The value keeps its length. A store should make such changes only if they
	// are atomic: readers, also after a crash, see all patches or none. Objects opened
	// before may fail with [ErrConflict] from then on. If the value is not of the version
	// of If, or does not exist, the error is [ErrConflict].
	OpPatch
	// OpAssemble builds the value at Key from ranges of other values of the same store
	// and new bytes, without moving the old bytes through the program. There may be
	// thousands of parts from thousands of values. Key may be a source.
	//
	// The error is [ErrConflict] if a source is not of the version of its part, or
	// changes while it is copied; [fs.ErrNotExist] if there is no value at the key of a
	// part that permits any version; and that of [Part.Within] if a source is shorter
	// than its part. A source may be replaced once its bytes are copied, so the parts
	// need not be of one moment.
	OpAssemble
	// OpGather is OpAssemble with sources that are values of the store From. The value
	// may be a shard of many gigabytes, so it is never held in memory. A driver that
	// uploads or writes a value piece by piece, and publishes it whole at the end,
	// needs nothing but [WriteParts]. If the store cannot gather from that one, the
	// error is [ErrUnsupported]. It never makes the two values share bytes that another
	// program could change in place, as a hard link would.
	OpGather
	// OpCopy copies the value at Source of the store From to Key, without moving the
	// bytes through the program: a server copies them, or the file system shares them.
	// If Source has no value, the error is [fs.ErrNotExist]. If the store cannot copy
	// from that one, it is [ErrUnsupported].
	OpCopy
	// OpClone gives the value at Source of the same store to Key as well, at less cost
	// than a copy where that is possible: the values then share their bytes. Later
	// writes of one key do not change the other. If Source is not of the version
	// SourceVersion, or changes meanwhile, the error is [ErrConflict]. If SourceVersion
	// is zero and there is no source, it is [fs.ErrNotExist].
	//
	// Clones are for keys of one array, whose writers all use a store like this one. A
	// program that changes the bytes of a value in place may change its clones too; no
	// driver of this module does so. A file store may make hard links. Then a clone,
	// and later every write or deletion of one of the names, gives the other names new
	// versions, although their bytes stay. So a version that was read before may be out
	// of date, and a change on its condition fails with ErrConflict; read the version
	// again. A hard link also keeps the modification time of its source, which web
	// servers report as Last-Modified.
	OpClone
)

// verb returns what a store does that makes changes of the kind, for errors.
func (o Op) verb() string {
	verbs := [...]string{
		OpPut: "write", OpPutIf: "write on a condition", OpDelete: "delete", OpDeleteIf: "delete on a condition",
		OpSplice: "splice", OpPatch: "patch", OpAssemble: "assemble", OpGather: "gather", OpCopy: "copy", OpClone: "clone",
	}
	if int(o) < len(verbs) && verbs[o] != "" {
		return verbs[o]
	}
	return "change values in this way"
}

// Change is one change of one value. Make one with [Put], [PutIf], [Delete], [DeleteIf],
// [Splice], [PatchValue], [Assemble], [Gather], [Copy] or [Clone].
type Change struct {
	Op      Op
	Key     Key
	Value   []byte    // Put, PutIf
	If      Condition // PutIf, DeleteIf, Splice, PatchValue
	Parts   []Part    // Splice, Assemble, Gather
	Patches []Patch   // PatchValue
	From    Store     // Gather, Copy: the store of the sources
	Source  Key       // Copy, Clone
	// SourceVersion is the version that the source of Clone must have. Zero permits any.
	SourceVersion Version
	// Limit is the most bytes that the function [Write], or a batch, holds in memory if
	// the store cannot make the change itself. For more, the error is [ErrTooLarge]. 0
	// means no limit. Drivers need not heed it.
	Limit int64
	// Tell asks for [Written.Version] in a [Batch] too, where it may cost a request. It
	// is zero if the store does not know it.
	Tell bool
}

// Telling returns the change with Tell set.
func (c Change) Telling(tell bool) Change {
	c.Tell = tell
	return c
}

// Put is the change that stores value at key.
func Put(key Key, value []byte) Change { return Change{Op: OpPut, Key: key, Value: value} }

// PutIf is the change that stores value at key on a condition.
func PutIf(key Key, value []byte, cond Condition) Change {
	return Change{Op: OpPutIf, Key: key, Value: value, If: cond}
}

// Delete is the change that deletes the value at key.
func Delete(key Key) Change { return Change{Op: OpDelete, Key: key} }

// DeleteIf is the change that deletes the value at key if it is of version v.
func DeleteIf(key Key, v Version) Change {
	return Change{Op: OpDeleteIf, Key: key, If: IfVersion(v)}
}

// Splice is the change that replaces version from of the value at key by parts, first to
// last: new bytes, and ranges of that version. It sets Key and Version of the latter, in
// place.
func Splice(key Key, from Version, parts []Part) Change {
	for i := range parts {
		if p := &parts[i]; p.Data == nil {
			p.Key, p.Version = key, from
		}
	}
	return Change{Op: OpSplice, Key: key, If: IfVersion(from), Parts: parts}
}

// PatchValue is the change that overwrites bytes of version from of the value at key.
func PatchValue(key Key, from Version, patches []Patch) Change {
	return Change{Op: OpPatch, Key: key, If: IfVersion(from), Patches: patches}
}

// Assemble is the change that stores parts, first to last, as the value at key.
func Assemble(key Key, parts []Part) Change {
	return Change{Op: OpAssemble, Key: key, Parts: parts}
}

// Gather is the change that stores parts of values of the store from as the value at key.
func Gather(key Key, from Store, parts []Part) Change {
	return Change{Op: OpGather, Key: key, From: from, Parts: parts}
}

// Copy is the change that copies the value at source of the store from to key.
func Copy(key Key, from Store, source Key) Change {
	return Change{Op: OpCopy, Key: key, From: from, Source: source}
}

// Clone is the change that gives the value at source, which must be of version from, to
// key as well. A zero from permits any version.
func Clone(key, source Key, from Version) Change {
	return Change{Op: OpClone, Key: key, Source: source, SourceVersion: from}
}

// Size returns the number of bytes that a change makes of a value that has old bytes
// before, for Put, PutIf, Splice, PatchValue, Assemble and Gather. Drivers call it once
// they know the size, before they change anything.
//
// If a part or a patch does not lie within the value, or a bound is negative, the error
// is [io.ErrUnexpectedEOF]. If the sum overflows, or if a splice has more old bytes in
// total than the value, it is [ErrTooLarge]. Without the latter limit, a few numbers
// could request a value of any length. Assemble has none: a caller that does not trust
// its numbers has to limit the sum.
func (c Change) Size(old int64) (int64, error) {
	switch c.Op {
	case OpSplice:
		return splicedSize(old, c.Parts)
	case OpPatch:
		return old, checkPatches(old, c.Patches)
	case OpAssemble, OpGather:
		return assembledSize(c.Parts)
	}
	return int64(len(c.Value)), nil
}

// Part is a part of a new value. It is the bytes of Data or, if Data is nil, the N bytes
// from offset Off on of the value at Key.
type Part struct {
	Data []byte
	Key  Key
	// Version is the version that the value at Key must have. A zero Version permits any,
	// but all parts of one value are from one version.
	Version Version
	Off, N  int64
}

// size returns the number of bytes of the part.
func (p Part) size() int64 {
	if p.Data != nil {
		return int64(len(p.Data))
	}
	return p.N
}

// Within returns an error that wraps [io.ErrUnexpectedEOF] if the part takes bytes that a
// value of size bytes does not have. Drivers call it once they know the size.
func (p Part) Within(size int64) error {
	if p.Data == nil && (p.Off < 0 || p.N < 0 || p.Off > size || p.N > size-p.Off) {
		return fmt.Errorf("store: a part takes %s of %s, which has %s: %w", Span(p.Off, p.N), p.Key, quantity.Count(size, "bytes"), io.ErrUnexpectedEOF)
	}
	return nil
}

// Patch overwrites bytes of a value: Data replaces the bytes from offset Off on.
type Patch struct {
	Off  int64
	Data []byte
}

// assembledSize returns the number of bytes that parts make.
func assembledSize(parts []Part) (n int64, err error) {
	for i, p := range parts {
		if err := p.Within(math.MaxInt64); err != nil {
			return 0, err
		}
		var ok bool
		if n, ok = checked.Add(n, p.size()); !ok {
			return 0, fmt.Errorf("%w: the parts up to %d", ErrTooLarge, i)
		}
	}
	return n, nil
}

// splicedSize returns the number of bytes that parts make of a value of size bytes.
func splicedSize(size int64, parts []Part) (int64, error) {
	var old, fresh int64
	for i, p := range parts {
		var ok bool
		switch {
		case p.Data != nil:
			if fresh, ok = checked.Add(fresh, int64(len(p.Data))); !ok {
				return 0, fmt.Errorf("%w: new bytes up to part %d", ErrTooLarge, i)
			}
		case p.Off < 0 || p.N < 0 || p.Off > size || p.N > size-p.Off:
			return 0, fmt.Errorf("store: part %d takes %s of a value of %s: %w", i, Span(p.Off, p.N), quantity.Count(size, "bytes"), io.ErrUnexpectedEOF)
		default:
			if old, ok = checked.Add(old, p.N); !ok || old > size {
				return 0, fmt.Errorf("%w: the parts up to %d take bytes twice of a value of %s", ErrTooLarge, i, quantity.Count(size, "bytes"))
			}
		}
	}
	n, ok := checked.Add(old, fresh)
	if !ok {
		return 0, fmt.Errorf("%w: %d old and %s", ErrTooLarge, old, quantity.Count(fresh, "new bytes"))
	}
	return n, nil
}

// checkPatches returns an error that wraps [io.ErrUnexpectedEOF] if a patch does not lie
// within a value of size bytes.
func checkPatches(size int64, patches []Patch) error {
	for i, p := range patches {
		// Compare with a difference: a sum could overflow.
		if p.Off < 0 || p.Off > size || int64(len(p.Data)) > size-p.Off {
			span := Span(p.Off, int64(len(p.Data)))
			return fmt.Errorf("store: patch %d is %s of a value of %s: %w", i, span, quantity.Count(size, "bytes"), io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// Written says what a change has done.
type Written struct {
	// Version is that of the new value. It is zero if the store does not know it or a
	// concurrent writer has replaced the value, and after a deletion. In a [Batch] it may
	// be zero after any change but OpClone and those with [Change.Tell].
	Version Version
	// Source is the version of the source of OpClone after the change, which may differ
	// from that before. It is zero if the store does not know it, or if a concurrent
	// writer has replaced the source.
	Source Version
	// Size is the size of the value after OpCopy and OpClone, in bytes.
	Size int64
	// Moved is the number of bytes that OpClone has copied: 0 if the values share them,
	// else Size.
	Moved int64
}

// Writer makes changes.
type Writer interface {
	// Can reports whether the store makes changes of a kind itself. It is cheap, and
	// always gives the same answer: a store that was opened for reading, or whose service
	// refuses a change, says so by the error of Write.
	Can(op Op) bool
	// Write makes a change whole or not at all: readers see the old value or the new one,
	// also after a crash. The constants of [Op] say more about each kind. The driver does
	// not keep the bytes of the change.
	//
	// Nothing has changed after [ErrConflict], [ErrUnsupported], [ErrNoBucket],
	// [ErrRefused], [fs.ErrNotExist] and the errors of [Change.Size]. After any other
	// error, the outcome is unknown: the change may have been made.
	Write(ctx context.Context, c Change, d Durability) (Written, error)
}

// Can reports whether s makes changes of a kind itself. It is false if s is no [Writer].
func Can(s Store, op Op) bool {
	w, ok := s.(Writer)
	return ok && w.Can(op)
}

// Write makes one change in s. If s cannot make it, Write makes it by reading and other
// changes if that is possible, as the table of the package says, and else returns
// [ErrUnsupported]. To read and write a value takes memory up to the limit of the change.
//
// In such a case, Clone and Assemble in a store without versions tell versions apart by
// size alone. A Clone that becomes a Copy may notice a concurrent writer of the source
// only after the copy: then the error is [ErrConflict], and the key may have the new
// value of the source.
func Write(ctx context.Context, s Store, c Change, d Durability) (Written, error) {
	w, ok := s.(Writer)
	if !ok {
		return around(ctx, nothing{}, s, c)
	}
	if w.Can(c.Op) {
		made, err := w.Write(ctx, c, d)
		// A store refuses to copy from a store of another kind before it changes
		// anything.
		if c.Op != OpCopy || !isUnsupported(err) {
			return made, err
		}
	}
	return around(ctx, single{w, d}, s, c)
}

// Condition is the condition of a conditional write. Make one with [IfAbsent] or
// [IfVersion].
type Condition struct {
	absent       bool
	version      Version
	unrepeatable bool
}

// IfAbsent is the condition that the key has no value.
func IfAbsent() Condition { return Condition{absent: true} }

// IfVersion is the condition that the key has a value of version v.
func IfVersion(v Version) Condition { return Condition{version: v} }

// Unrepeatable returns the condition for a write that a driver must not repeat after a
// lost answer. Where versions are hashes of the content, the value may have its version
// again, and only the caller knows whether the write is still wanted. Drivers whose
// versions never come back need not heed it.
func (c Condition) Unrepeatable() Condition {
	c.unrepeatable = true
	return c
}

// IsUnrepeatable reports whether c was made by [Condition.Unrepeatable].
func (c Condition) IsUnrepeatable() bool { return c.unrepeatable }

// Absent reports whether c was made by [IfAbsent].
func (c Condition) Absent() bool { return c.absent }

// Version returns the version given to [IfVersion].
func (c Condition) Version() Version { return c.version }

// Holds reports whether the condition holds for a key that has a value of version v if
// exists is set, and no value otherwise.
func (c Condition) Holds(v Version, exists bool) bool {
	if c.absent {
		return !exists
	}
	return exists && v == c.version
}

// Drafter replaces a value in two steps, so that another writer can keep the second one
// from happening. A write on the condition of a version cannot be taken back once it is
// sent. Where versions are hashes of the content, a version comes back, and then a write
// that was delayed replaces a value that it was not meant for. Stores whose versions
// never come back do not need drafts.
type Drafter interface {
	// Draft stores a value beside key, where no reader sees it. A driver whose service
	// turns out not to support drafts returns ErrUnsupported.
	Draft(ctx context.Context, key Key, value []byte, d Durability) (Draft, error)
	// Revoke makes sure that no draft for key can become its value, except those that are
	// made later, and keep, which may be nil.
	Revoke(ctx context.Context, key Key, keep Draft) error
}

// Draft is a value that is stored beside its key.
type Draft interface {
	// Publish makes the draft the value of its key if a condition holds, in one atomic
	// step. It returns ErrConflict if the condition does not hold or the draft was
	// revoked. After any other error, the outcome is unknown, and Publish may be called
	// again.
	Publish(ctx context.Context, cond Condition) (Version, error)
	// Discard removes a draft that was not published, if that is possible.
	Discard(ctx context.Context)
}
