package zarr

import (
	"errors"
	"fmt"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// The errors that callers branch on, found with [errors.Is]. Not found is
// [fs.ErrNotExist], already there is [fs.ErrExist], no access is [fs.ErrPermission], and
// a cancelled context is [context.Canceled].
var (
	// ErrInvalidMetadata says that a document breaks the specification. Repair the
	// document, or write the node anew.
	ErrInvalidMetadata = metadata.ErrInvalid
	// ErrUnsupported says that something may be valid but is not known here: a data type,
	// codec, grid, extension or format version, or a power that the store lacks. The
	// message names it; a codec can be registered.
	ErrUnsupported = fault.ErrUnsupported
	// ErrInvalidArgument says that the caller asked for what cannot be: a selection
	// outside the array, a number of values that does not match, a bad shape. Nothing was
	// changed.
	ErrInvalidArgument = fault.ErrInvalidArgument
	// ErrCorrupt says that stored bytes do not decode to what the metadata promises.
	// Restore the chunk, or write it anew.
	ErrCorrupt = codec.ErrCorrupt
	// ErrChecksum is the ErrCorrupt of a checksum that does not match.
	ErrChecksum error = codec.ErrChecksum
	// ErrConflict says that another writer published first, or holds the array by a
	// reservation, or that it is not as was expected; nothing of this change is visible.
	// Look at the array, then try again.
	ErrConflict = store.ErrConflict
	// ErrSourceChanged says that what is copied, converted or appended changed meanwhile,
	// and that no copy is there, and nothing appended. Repeat it. It is an ErrConflict,
	// too.
	ErrSourceChanged error = sourceChanged{}
	// ErrLocked says that another writer holds a lock and that [Options.Locking] set an
	// end to waiting for it. Nothing was changed; the [store.LockError] says who holds
	// it. Try again, or end the program that hangs.
	ErrLocked = store.ErrLocked
	// ErrIncomplete says that a change was published, and that removing what it left
	// behind failed. Do not repeat the change.
	ErrIncomplete = publish.ErrIncomplete
	// ErrDecided says that a change of several arrays was decided and not finished,
	// because the caller gave up or a lock was not had in time. Not all of it is visible
	// yet, and whoever changes one of the arrays next finishes it. Do not repeat the
	// change. It is an ErrIncomplete, too.
	ErrDecided = publish.ErrDecided
	// ErrOutcomeUnknown says that nobody can tell whether a change was published. Look at
	// the node before it is repeated.
	ErrOutcomeUnknown = publish.ErrOutcomeUnknown
	// ErrUnsafeConcurrentWrite says that the store cannot keep other writers away from a
	// change that needs it. Set [Options.SingleWriter] if there are none.
	ErrUnsafeConcurrentWrite = publish.ErrUnsafe
	// ErrReadOnly says that a node was opened for reading only. Set [Options.Write].
	ErrReadOnly = errors.New("opened for reading only (set Options.Write)")
	// ErrOverflow says that a number exceeds 64 bits.
	ErrOverflow = grid.ErrOverflow
	// ErrLimit says that something is larger than [Limits] allow.
	ErrLimit = engine.ErrLimit
	// ErrDurability says that the system could not promise that written bytes survive a
	// power cut. The store takes no more writes; open it anew and check.
	ErrDurability = store.ErrDurability
)

// sourceChanged is the type of ErrSourceChanged.
type sourceChanged struct{}

func (sourceChanged) Error() string        { return "the source changed" }
func (sourceChanged) Is(target error) bool { return target == ErrConflict }

// Error says where something went wrong. Fields that do not apply are empty, Axis is -1.
type Error struct {
	Op    string  // what was done: "open", "read", "append" …
	Path  string  // place of the node, without credentials
	Key   string  // key of the chunk or document in the store
	Chunk []int64 // index of the chunk
	Axis  int     // number of the axis
	Codec string  // name of the codec
	Err   error
}

// Error returns operation, node and reason in one line. The reason names key, chunk, axis
// and codec where they apply.
func (e *Error) Error() string {
	path := e.Path
	if path == "" {
		path = "/"
	}
	return fmt.Sprintf("%s %s: %s", e.Op, path, strings.ReplaceAll(e.Err.Error(), "\n", "; "))
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Is gives the reasons of the layers below the names that this package has for them.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrCorrupt:
		return errors.Is(e.Err, zipstore.ErrCorrupt)
	case ErrLimit:
		return errors.Is(e.Err, strictjson.ErrLimit)
	case ErrInvalidArgument:
		return fault.Any(e.Err, selection.ErrInvalid, store.ErrInvalidKey, grid.ErrOutOfRange) ||
			fault.Any(e.Err, fault.InvalidValues...) && !errors.Is(e.Err, ErrInvalidMetadata)
	}
	return false
}

// fail returns err as an [*Error] of this operation and node; nil stays nil.
func fail(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var inner *Error
	if errors.As(err, &inner) {
		return err
	}
	e := &Error{Op: op, Path: path, Axis: -1, Err: err}
	var chunk *engine.ChunkError
	if errors.As(err, &chunk) {
		e.Key, e.Chunk = chunk.Key, chunk.Index
	}
	var file *fault.FileError
	if errors.As(err, &file) {
		e.Key = file.Key
	}
	var axis *grid.AxisError
	if errors.As(err, &axis) {
		e.Axis = axis.Axis
	}
	var coder *codec.Error
	if errors.As(err, &coder) {
		e.Codec = coder.Codec
	}
	return e
}
