// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/conventions"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
)

// Finding is one thing that should be acted upon.
type Finding struct {
	// Kind is the kind of the error of a damaged chunk, such as "checksum", or
	// one of these:
	//
	//   - "missing": a chunk is not stored ([Options.Complete])
	//   - "shared": two inner chunks share bytes of a shard
	//   - "unreadable": a node below a group, or a coordinate, cannot be read
	//   - "unordered": times run backwards or repeat
	//   - "dimensions": arrays of a group differ in length
	//   - "stale": consolidated metadata does not describe the nodes
	//   - "misread": other programs return wrong values
	//   - "other-keys": the stored values have other keys than the document names
	//   - "unfinished": a decided change of several arrays is not finished
	//   - "statistics": the statistics of chunks say what is not so
	//   - "document-replaced": a program has put back the document of before a rechunk
	//   - "cf/…", "ome/…", "geozarr/…", "anndata/…": a convention is broken
	//     ([Options.Conventions]); docs/conventions.md lists the kinds
	Kind zarr.Kind
	// Section is where a convention asks for what is not there, or "".
	Section string
	// Path is the path of the node, relative to the checked one; "" is that itself.
	Path string
	// Key is the key of the chunk in the store, and Chunk its index in the array. They
	// are "" and nil unless the finding is about one chunk.
	Key   string
	Chunk []int64
	// Message says what is wrong, in one line, and Repair what would help.
	Message, Repair string
	// Err is the error of a damaged or unreadable chunk or node, or nil.
	Err error
}

// String returns the path and the message.
func (f Finding) String() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// What to do about findings.
const (
	repairMissing = "write the elements of the chunk, or leave it if they are the fill value"
	repairDamage  = "restore the value from a copy, or write the elements of the chunk again"
	repairIndex   = remedy.RepairShards + " restores the index if its checksum proves what it was; else " + repairDamage
	repairLimit   = remedy.RaiseLimit + ", and check again: nothing is known to be damaged"
	repairAccess  = "get the permission to read the file, and check again: nothing is known to be damaged"
	repairTimeout = "check again: nothing is known to be damaged"
	repairLost    = "put the file back as it was, or scan it again"
	repairShared  = "write the elements of the chunk again; " + remedy.Read + " reads those that are sound"
	repairNode    = "restore the document from a copy"
	repairUnread  = "check again; if that fails, too, " + repairDamage
	repairTimes   = "varve drop takes a repeated range out of all arrays of the group"
	repairLengths = "append to the shorter arrays, or resize the longer ones"
	repairPending = remedy.Repair + " finishes the change"
	repairMisread = remedy.Repair + " writes the document as other programs read it"
	repairKeys    = "name the separator of the keys in the document: \"dimension_separator\" in .zarray, or \"chunk_key_encoding\" in zarr.json"
	repairRecords = "the elements are all there: " + remedy.NewArray
	repairClaim   = remedy.Abandon + " deletes it; the elements are all there"
	repairEntries = "varve stats --drop removes them, and varve stats makes them again"
	repairStale   = remedy.Repair + ", or " + remedy.Consolidate
	repairGone    = "restore the documents of the nodes that are gone from the copy, or let " + remedy.Consolidate + " forget them"
)

// Findings returns what should be acted upon in the array.
func (r *Array) Findings() []Finding {
	var list []Finding
	if r.Err != nil {
		repair := repairNode
		switch {
		case errors.Is(r.Err, fs.ErrPermission):
			repair = repairAccess
		case r.noOrder:
			repair = repairUnread
		}
		list = append(list, Finding{Kind: kindUnreadable, Path: r.Path, Message: oneLine(r.Err), Repair: repair, Err: r.Err})
	}
	for _, f := range r.Found {
		one := faultFinding(r.Path, f)
		if r.Sharded && isIndexFault(f) {
			one.Repair = repairIndex
		}
		list = append(list, one)
	}
	listed := slices.DeleteFunc(slices.Clone(r.Found), func(f zarr.ShardFault) bool { return isUnread(f.Err) })
	if more := r.Faults - int64(len(listed)); more > 0 {
		list = append(list, Finding{Kind: "corrupt", Path: r.Path, Message: quantity.Count(more, "more faults"), Repair: repairDamage})
	}
	if r.Times {
		list = append(list, Finding{Kind: kindUnordered, Path: r.Path, Message: r.Disorder, Repair: repairTimes})
	}
	if r.IsUnfinished() {
		list = append(list, r.unfinished())
	}
	for _, text := range r.Misread {
		list = append(list, Finding{Kind: kindMisread, Path: r.Path, Message: text, Repair: repairMisread})
	}
	if r.Misplaced != "" {
		list = append(list, Finding{Kind: kindElsewhere, Path: r.Path, Message: r.Misplaced, Repair: repairKeys})
	}
	if r.Contradiction != "" {
		list = append(list, Finding{Kind: kindContradiction, Path: r.Path, Message: r.Contradiction, Repair: repairEntries})
	}
	if r.RecordsErr != nil {
		repair := repairRecords
		if errors.Is(r.RecordsErr, lineage.ErrDamagedClaim) {
			repair = repairClaim
		}
		list = append(list, Finding{Kind: zarr.KindOf(r.RecordsErr), Path: r.Path, Message: oneLine(r.RecordsErr), Repair: repair, Err: r.RecordsErr})
	}
	if r.Replaced != nil {
		list = append(list, Finding{Kind: kindReplaced, Path: r.Path, Message: r.Replaced.Message, Repair: r.Replaced.Repair})
	}
	return list
}

// addConventions adds what breaks the conventions.
func (r *Report) addConventions(ctx context.Context, t *conventions.Tree) error {
	found, err := t.Findings(ctx)
	for _, f := range found {
		one := Finding{Kind: zarr.Kind(f.Name), Section: f.Section, Path: f.Path, Message: f.Message, Repair: f.Remedy}
		if f.Advice {
			r.Advice = append(r.Advice, one)
		} else {
			r.broken = append(r.broken, one)
		}
	}
	return err
}

// faultFinding returns a fault of a chunk as a finding.
func faultFinding(path string, f zarr.ShardFault) Finding {
	one := Finding{Kind: zarr.KindOf(f.Err), Path: path, Key: f.Key, Chunk: f.Shard, Message: oneLine(f), Repair: repairDamage, Err: f}
	switch {
	case f.Shared:
		one.Kind, one.Repair = kindShared, repairShared
	case one.Kind == "not-found":
		one.Kind, one.Repair = kindMissing, repairMissing
	case one.Kind == "source-changed":
		one.Repair = repairLost
	case !isUnread(f.Err):
	case one.Kind == "limit":
		one.Repair = repairLimit
	case one.Kind == "permission":
		one.Repair = repairAccess
	default:
		one.Repair = repairTimeout
	}
	return one
}

// unfinished returns the pending change as a finding.
func (r *Array) unfinished() Finding {
	f := Finding{Kind: kindUnfinished, Path: r.Path, Repair: repairPending}
	if r.PendingErr != nil {
		f.Err = fmt.Errorf("an unfinished change cannot be read: %w", r.PendingErr)
		f.Message = oneLine(f.Err)
		return f
	}
	f.Message = r.Pending.String()
	return f
}

// finding returns stale consolidated metadata as a finding.
func (s Stale) finding() Finding {
	f := Finding{Kind: kindStale, Path: s.Path, Message: s.drift().Message(), Repair: repairStale}
	// Where the document of a node is gone, the copy may be the last one.
	if len(s.Gone) > 0 {
		f.Repair = repairGone
	}
	return f
}

// oneLine returns the message of an error. Joined errors are separated by semicolons.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// foundError is an error of another process: its message, and what it was.
type foundError struct {
	text   string
	causes []error
}

func (e *foundError) Error() string   { return e.text }
func (e *foundError) Unwrap() []error { return e.causes }

// sentinels has an error of each kind, and nil for "io".
var sentinels = map[zarr.Kind]error{
	"decided":          zarr.ErrDecided,
	"checksum":         zarr.ErrChecksum,
	"corrupt":          zarr.ErrCorrupt,
	"source-changed":   zarr.ErrSourceChanged,
	"conflict":         zarr.ErrConflict,
	"limit":            zarr.ErrLimit,
	"overflow":         zarr.ErrOverflow,
	"no-space":         syscall.ENOSPC,
	"outcome-unknown":  zarr.ErrOutcomeUnknown,
	"not-found":        fs.ErrNotExist,
	"exists":           fs.ErrExist,
	"permission":       fs.ErrPermission,
	"unsupported":      zarr.ErrUnsupported,
	"invalid-argument": zarr.ErrInvalidArgument,
	"invalid-metadata": zarr.ErrInvalidMetadata,
	"timeout":          os.ErrDeadlineExceeded,
	"locked":           zarr.ErrLocked,
	"canceled":         context.Canceled,
	"io":               nil,
}

// errorJSON is an error as JSON.
type errorJSON struct {
	Kind zarr.Kind `json:"kind"`
	// Corrupt is set if an error of another kind also wraps [zarr.ErrCorrupt], which the
	// repair of an index depends on.
	Corrupt bool   `json:"corrupt,omitempty"`
	Message string `json:"message"`
}

// newErrorJSON returns an error as JSON.
func newErrorJSON(err error) errorJSON {
	kind := zarr.KindOf(err)
	return errorJSON{kind, errors.Is(err, zarr.ErrCorrupt) && !errors.Is(sentinels[kind], zarr.ErrCorrupt), err.Error()}
}

// restored returns an error with the same message and the same kind. It returns false if
// the kind is unknown.
func (e errorJSON) restored() (error, bool) {
	cause, known := sentinels[e.Kind]
	found := &foundError{text: e.Message}
	if cause != nil {
		found.causes = append(found.causes, cause)
	}
	if e.Corrupt {
		found.causes = append(found.causes, zarr.ErrCorrupt)
	}
	return found, known
}

// naming collects, by group, which arrays name their dimensions.
type naming map[string]*neighbors

// neighbors describes the arrays directly below one group.
type neighbors struct {
	named   bool     // some array names its dimensions
	unnamed []*Array // those that do not
}

// add adds an array with its result.
func (n naming) add(a *zarr.Array, r *Array) {
	group := path.Dir(r.Path)
	if n[group] == nil {
		n[group] = new(neighbors)
	}
	switch attributes.Unnamed(a.Metadata()) {
	case "":
		n[group].named = n[group].named || a.Rank() > 0
	case attributes.NoNames:
		n[group].unnamed = append(n[group].unnamed, r)
	}
}

// note adds a note to the results of arrays without dimension names if other arrays of
// their group have some. An array without any names is usual elsewhere.
func (n naming) note() {
	for _, g := range n {
		for _, r := range g.unnamed {
			if g.named {
				r.Notes = append(r.Notes, attributes.NoNames+", and other arrays of its group have some"+closed)
			}
		}
	}
}

// Kinds of findings that are not kinds of errors; [Finding] describes them.
const (
	kindMissing    zarr.Kind = "missing"
	kindShared     zarr.Kind = "shared"
	kindUnreadable zarr.Kind = "unreadable"
	kindUnordered  zarr.Kind = "unordered"
	kindUnfinished zarr.Kind = "unfinished"
	kindReplaced   zarr.Kind = "document-replaced"

	kindContradiction zarr.Kind = "statistics"
	kindMisread       zarr.Kind = "misread"
	kindElsewhere     zarr.Kind = "other-keys"
	kindDimensions    zarr.Kind = "dimensions"
	kindStale         zarr.Kind = "stale"
)
