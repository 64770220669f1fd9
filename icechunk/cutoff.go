// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// A garbage collection deletes what no snapshot names and what is older than its cutoff.
// The chunks of a session that is not committed are such objects. So that a commit never
// publishes references to chunks that are deleted:
//
//  1. The collection stores a record of its cutoff, and then an entry in the log of the
//     object repo, by the conditional write of any change. It deletes after that.
//  2. A commit before the entry is seen by the collection, and its chunks stay.
//  3. A commit after the entry reads the entry and the record. It fails if its session
//     began before the cutoff, by the clock of the store, or if a snapshot whose chunks
//     the session may name is gone.
//
// Other programs make the entry without the record. Then the cutoff is not known, and
// sessions that began before the entry fail.

// ErrCollected means that garbage was collected since a session began, so that chunks of
// the session may be deleted. Nothing was published. Begin another session and repeat the
// change. It is a [store.ErrConflict].
var ErrCollected error = &kindError{"garbage was collected since the session began", store.ErrConflict}

// beginning is when a session began, and what it depends on.
type beginning struct {
	at     time.Time // by the clock of this machine
	update time.Time // of the last entry of the log
	// sources are the snapshots of which the session may name chunks: its bases, and
	// those from which chunks were copied.
	sources []ID
}

// begun returns the beginning of a session that begins now.
func begun(repo *format.Repository, base ID) beginning {
	b := beginning{at: time.Now(), sources: []ID{base}}
	if len(repo.Updates) > 0 {
		b.update = repo.Updates[0].Time
	}
	return b
}

// add makes a beginning that of chunks of another one, too. That of a snapshot has no
// times.
func (b *beginning) add(o beginning) {
	if !o.at.IsZero() {
		if o.at.Before(b.at) {
			b.at = o.at
		}
		if o.update.Before(b.update) {
			b.update = o.update
		}
	}
	for _, id := range o.sources {
		if !slices.Contains(b.sources, id) {
			b.sources = append(b.sources, id)
		}
	}
}

// age returns how long ago the session began. The clock may have been set since, or stood
// still while the machine slept.
func (b beginning) age() time.Duration {
	return max(time.Since(b.at), time.Now().Round(0).Sub(b.at.Round(0)))
}

// record says what a garbage collection deletes.
type record struct {
	// OlderThan is how much older than the record an object is that may be deleted.
	OlderThan string `json:"older_than"`
}

// recordKey returns the key of the record that belongs to an entry of the log.
func (r *Repository) recordKey(entry time.Time) store.Key {
	return r.root.MustKey(fmt.Sprintf(backupFolder+"/gc.%d", entry.UnixMicro()))
}

// putRecord stores the record for an entry of the log.
func (r *Repository) putRecord(ctx context.Context, entry time.Time, olderThan time.Duration) error {
	text, err := json.Marshal(record{olderThan.String()})
	if err == nil {
		_, err = store.Write(ctx, r.store, store.Put(r.recordKey(entry), text), store.Sync)
	}
	return err
}

// cutoff returns the time before which the garbage collection of an entry deletes, by the
// clock of the store. ok is false if it is not known.
func (r *Repository) cutoff(ctx context.Context, entry time.Time) (before time.Time, ok bool, err error) {
	text, info, err := r.store.Get(ctx, r.recordKey(entry), store.Request{Limit: 1 << 12}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return before, false, nil
	}
	if err != nil {
		return before, false, err
	}
	var is record
	if json.Unmarshal(text, &is) != nil || info.Modified.IsZero() {
		return before, false, nil
	}
	age, err := time.ParseDuration(is.OlderThan)
	if err != nil || age < 0 {
		return before, false, nil
	}
	return info.Modified.Add(-age), true, nil
}

// clockSlack is how much times of objects may be wrong: services round to seconds.
const clockSlack = 5 * time.Second

// checkCollected returns an error if garbage was collected since the session began, and
// objects of the session may be deleted.
func (c *commit) checkCollected(ctx context.Context, repo *format.Repository) error {
	for u, err := range c.repository.updates(ctx, repo) {
		if err != nil {
			return err
		}
		if !u.Time.After(c.began.update) {
			return nil
		}
		if u.Kind != format.GarbageCollected {
			continue
		}
		refused := func(why string) error {
			return fmt.Errorf("%w, at %s, and %s: nothing is published; repeat the change in a new session", ErrCollected, u.Time.Format(time.RFC3339), why)
		}
		// The session may name chunks of these at other places.
		for _, id := range c.began.sources {
			if _, ok := repo.FindSnapshot(id); !ok {
				return refused(fmt.Sprintf("the snapshot %v, with which the session began or from which it has copied, is gone", id))
			}
		}
		before, known, err := c.repository.cutoff(ctx, u.Time)
		if err != nil {
			return err
		}
		if !known {
			return refused("by a program that does not say how old what it deletes is")
		}
		// What this commit has just stored tells the time of the store.
		info, err := store.Stat(ctx, c.repository.store, c.repository.root.MustKey(snapshotName(c.snapshot.ID)))
		if errors.Is(err, fs.ErrNotExist) {
			return refused("what it has stored is deleted")
		}
		if err != nil {
			return err
		}
		if info.Modified.Add(-c.began.age() - clockSlack).Before(before) {
			return refused("the session began before the time from which on objects stay, " + before.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// updates yields the log of the repository, the latest entry first, also those that are
// in former objects.
func (r *Repository) updates(ctx context.Context, repo *format.Repository) iter.Seq2[format.Update, error] {
	return func(yield func(format.Update, error) bool) {
		for was, err := range r.chain(ctx, repo) {
			if err != nil {
				yield(format.Update{}, err)
				return
			}
			for _, u := range was.Updates {
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}

// link is an object repo that has a part of the log.
type link struct {
	*format.Repository
	name string // of a former object, below overwritten/
}

// chain yields the object repo and the former ones that have the log before it.
func (r *Repository) chain(ctx context.Context, repo *format.Repository) iter.Seq2[link, error] {
	return func(yield func(link, error) bool) {
		seen := map[string]bool{}
		is, err := link{Repository: repo}, error(nil)
		for yield(is, err) && err == nil && is.Before != "" {
			name := is.Before
			if is.Repository, err = r.former(ctx, name); err == nil && seen[name] {
				err = r.fail(backupFolder+"/"+name, fmt.Errorf("%w: the log leads in a circle", format.ErrDamaged))
			}
			is.name, seen[name] = name, true
		}
	}
}

// former reads a former object repo, by its name below overwritten/.
func (r *Repository) former(ctx context.Context, name string) (*format.Repository, error) {
	if strings.ContainsAny(name, "/\\") || !strings.HasPrefix(name, repositoryKey+".") {
		return nil, r.fail(repositoryKey, fmt.Errorf("%w: %q is no name of a former object", format.ErrDamaged, name))
	}
	key, err := r.root.Key("overwritten/" + name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", zarr.ErrCorrupt, err)
	}
	data, _, err := r.store.Get(ctx, key, store.Request{Limit: r.limit}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return r.parseRepository(data)
}
