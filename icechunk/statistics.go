// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// ChunkCount counts chunks of one kind.
type ChunkCount struct {
	Chunks int64 // each once, however many references lead to it
	Bytes  int64
}

// ReferenceStatistics are those of a branch or tag.
type ReferenceStatistics struct {
	Reference
	Commits        int // that lead to it
	Arrays, Groups int
	Chunks         int64 // references
}

// FolderStatistics are those of a folder of objects.
type FolderStatistics struct {
	Stored, Live Deleted
}

// Statistics says what a repository has. Live is what branches and tags lead to.
type Statistics struct {
	Branches, Tags []ReferenceStatistics
	Snapshots      int   // live
	Manifests      int   // live
	References     int64 // to chunks, in live manifests
	// Native chunks are objects of the repository, Virtual ones ranges of objects beside
	// it. An Inline chunk is counted in each manifest that has it.
	Native, Inline, Virtual ChunkCount
	Folders                 map[string]FolderStatistics // by name
}

// Statistics counts what the repository has. It takes about 32 bytes of memory for each
// native or virtual chunk.
func (r *Repository) Statistics(ctx context.Context, progress func(what string, done int64)) (*Statistics, error) {
	is, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := r.live(ctx, is)
	if err != nil {
		return nil, err
	}
	t, s := &Statistics{Folders: map[string]FolderStatistics{}}, r.newSurvey(progress)
	var native, virtual format.Table[uint64]
	native.Combine, virtual.Combine = format.Larger[uint64], format.Larger[uint64]
	tips := map[ID]ReferenceStatistics{}
	for _, ref := range slices.Concat(is.branches, is.tags) {
		tips[ref.Snapshot] = ReferenceStatistics{}
	}
	s.onSnapshot = func(is *format.Snapshot) {
		if _, isTip := tips[is.ID]; isTip {
			tips[is.ID] = tipStatistics(is)
		}
	}
	s.onManifest = func(m *format.Manifest) error { return t.count(m, &native, &virtual) }
	if err := s.visit(ctx, ids); err != nil {
		return nil, err
	}
	t.Snapshots, t.Manifests = len(s.snapshots), len(s.manifests)
	t.Native, t.Virtual = total(&native), total(&virtual)
	for _, kind := range []struct {
		refs []Reference
		into *[]ReferenceStatistics
	}{{is.branches, &t.Branches}, {is.tags, &t.Tags}} {
		for _, ref := range kind.refs {
			one := tips[ref.Snapshot]
			one.Reference = ref
			for _, err := range r.ancestors(ctx, is, ref.Snapshot) {
				if err != nil {
					return nil, err
				}
				one.Commits++
			}
			*kind.into = append(*kind.into, one)
		}
	}
	logs := maps.Clone(s.snapshots) // and those of expired snapshots
	if is.Repository != nil {
		for _, info := range is.Snapshots {
			for _, id := range info.Pruned {
				logs[id] = true
			}
		}
	}
	return t, t.list(ctx, s, logs, &native)
}

// tipStatistics counts the nodes of a snapshot.
func tipStatistics(is *format.Snapshot) (t ReferenceStatistics) {
	for _, n := range is.Nodes {
		if n.IsArray {
			t.Arrays++
		} else {
			t.Groups++
		}
	}
	for _, f := range is.Files {
		t.Chunks += int64(f.References)
	}
	return t
}

// count counts the references of a manifest.
func (t *Statistics) count(m *format.Manifest, native, virtual *format.Table[uint64]) error {
	for _, refs := range m.Arrays() {
		for ref, err := range refs.All() {
			if err != nil {
				return err
			}
			t.References++
			switch ref.Payload {
			case format.Inline:
				t.Inline = ChunkCount{t.Inline.Chunks + 1, t.Inline.Bytes + int64(len(ref.Data))}
			case format.Native:
				native.Add(ref.ID, ref.Length)
			case format.Virtual:
				// An object has no second range of bytes that is the same one.
				sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", ref.Offset, ref.Length, ref.Location))
				virtual.Add(ID(sum[:len(ID{})]), ref.Length)
			}
		}
	}
	return nil
}

// total counts the chunks of a table, which has their lengths.
func total(chunks *format.Table[uint64]) (c ChunkCount) {
	for _, n := range chunks.All() {
		c = ChunkCount{c.Chunks + 1, c.Bytes + int64(n)}
	}
	return c
}

// list counts the objects that are stored.
func (t *Statistics) list(ctx context.Context, s *survey, logs map[ID]bool, native *format.Table[uint64]) error {
	n := int64(0)
	for _, folder := range append([]string{backupFolder}, folders...) {
		var f FolderStatistics
		for e, err := range store.List(ctx, s.store, s.folder(folder), store.Flat|store.WithVersions) {
			if err != nil {
				return err
			}
			n++
			s.progress("objects", n)
			id, isObject := objectOf(e)
			live := !isObject // backups, and what other programs have put there
			switch folder {
			case transactionFolder:
				live = live || logs[id]
			case manifestFolder:
				live = live || s.manifests[id]
			case chunkFolder:
				_, named := native.Of(id)
				live = live || named
			default:
				live = live || s.snapshots[id]
			}
			f.Stored.add(e.Size)
			if live {
				f.Live.add(e.Size)
			}
		}
		t.Folders[folder] = f
	}
	return nil
}
