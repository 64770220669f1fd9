// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Claim says that a rechunk is staging chunks, under keys that no other grid uses. An
// array has at most one claim. It stays until the rechunk is published or abandoned, even
// if its process ends, so that another process can resume the rechunk.
type Claim struct {
	// ID names the rechunk; its record has the same.
	ID string `json:"id"`
	// Operation is the command, such as "compact".
	Operation string `json:"operation"`
	// Fingerprint identifies the request. A process with the same request may resume.
	Fingerprint string `json:"fingerprint"`
	// Keys is the key encoding of the staged chunks.
	Keys metadata.KeyEncoding `json:"keys"`
	// InPlace is set for a merge in place, which earlier versions of this project made.
	// Its chunks are staged in a directory of their own; see [Array.mergedDirOf].
	InPlace bool         `json:"in_place,omitempty"`
	By      store.Holder `json:"by,omitzero"`
	// Shared is set if several processes execute the tasks. Closed is set while one of
	// them publishes, and no other may begin a task.
	Shared bool `json:"shared,omitempty"`
	Closed bool `json:"closed,omitempty"`
	// Shape is that of the array when it was claimed. The stages are those of that shape:
	// they must not change because the array grows meanwhile.
	Shape []int64 `json:"shape,omitempty"`
	// Document is the SHA-256 of the document that is about to be published, in hex, if
	// the claim is that of a new array. After a crash it tells this document from that of
	// another program, even if the source has changed since.
	Document string `json:"document,omitempty"`
	// Lease is how long the claim lasts after it was stored or renewed, 0 if its process
	// does not renew it. Renewed counts the renewals: each gives the claim a new version.
	Lease   time.Duration `json:"lease,omitempty"`
	Renewed int64         `json:"renewed,omitempty"`
	// Holder identifies the process that renews it. One that resumes the rechunk is
	// another holder.
	Holder string `json:"holder,omitempty"`

	info store.Info
	// remaining is how long the lease lasts, if looked is set.
	remaining  time.Duration
	leaseKnown bool
}

// SameHolder reports whether two claims are of one rechunk and one process.
func (c *Claim) SameHolder(o *Claim) bool { return c.ID == o.ID && c.Holder == o.Holder }

// Lapsed reports whether [Array.ReadLease] has found that the lease has run out.
func (c *Claim) Lapsed() bool { return c.leaseKnown && c.remaining <= 0 }

// Remaining returns how long the lease lasts unless it is renewed. ok is false if that
// is not known, or if there is none.
func (c *Claim) Remaining() (left time.Duration, ok bool) { return c.remaining, c.leaseKnown }

// ReadLease finds out whether the lease of a claim has run out, by the clock of the
// store.
func (a Array) ReadLease(ctx context.Context, c *Claim) error {
	// A store without times tells nothing.
	if c.Lease <= 0 || c.info.Modified.IsZero() {
		return nil
	}
	now, err := a.StoreTime(ctx)
	if err != nil {
		return err
	}
	c.remaining, c.leaseKnown = c.Lease-now.Sub(c.info.Modified), true
	return nil
}

// Text says what runs or ran, since when, and by whom.
func (c *Claim) Text() string {
	by := c.By
	by.Operation = c.Operation
	return fmt.Sprintf("%.200s", by) // a file may have any text
}

// IsOwn reports whether this process made the claim.
func (c *Claim) IsOwn() bool {
	host, _ := os.Hostname()
	return c.By.PID == os.Getpid() && c.By.Host == host
}

// HasVersion reports whether the store gave the claim a version, as it then does with
// every value.
func (c *Claim) HasVersion() bool { return !c.info.Version.IsZero() }

// IsID reports whether text has the form of IDs: 16 hexadecimal digits.
func IsID(text string) bool {
	if len(text) != 16 {
		return false
	}
	for _, c := range text {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// claimName is the key of the claim, relative to the array.
const claimName = own.Dir + "/regrid.json"

// mostClaim bounds a claim in bytes.
const mostClaim = 1 << 20

// ErrClaimed means that another rechunk of the array is not finished. It is a
// [store.ErrConflict].
var ErrClaimed error = claimedError{}

type claimedError struct{}

func (claimedError) Error() string { return "another rechunk is not finished" }

// Is reports whether target is [store.ErrConflict].
func (claimedError) Is(target error) bool { return target == store.ErrConflict }

// Claimed reports whether a rechunk of the array has begun and is neither published
// nor abandoned.
func (a Array) Claimed(ctx context.Context) (bool, error) {
	return store.Exists(ctx, a.Store, a.Path.MustKey(claimName))
}

// Claim returns the claim on the array, or nil if there is none.
func (a Array) Claim(ctx context.Context) (*Claim, error) {
	key := a.Path.MustKey(claimName)
	data, info, err := a.Store.Get(ctx, key, store.Request{Limit: mostClaim}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &Claim{info: info}
	err = json.Unmarshal(data, c)
	// Callers make keys of these, and delete the values that have them.
	if err == nil && (!IsID(c.ID) || c.Keys > metadata.V2Slash) {
		err = fmt.Errorf("the claim %.40q with the keys %d", c.ID, c.Keys)
	}
	if err != nil {
		return nil, &damagedClaim{key, info.Version, err}
	}
	return c, nil
}

// ErrDamagedClaim means that the claim cannot be read. Nobody knows then what it is of.
// [Array.DropDamaged] deletes it.
var ErrDamagedClaim = errors.New("the claim of a rechunk is damaged")

// damagedClaim is the error of a claim that cannot be read.
type damagedClaim struct {
	key     store.Key
	version store.Version
	err     error
}

// Error names the claim, and says what to do.
func (d *damagedClaim) Error() string {
	return fmt.Sprintf("%v: %s is damaged, so the array cannot be rechunked; "+remedy.Abandon+" gives up that rechunk, "+
		"and the array stays as it is: %v", metadata.ErrInvalid, d.key, d.err)
}

// Unwrap returns [ErrDamagedClaim], and [metadata.ErrInvalid].
func (d *damagedClaim) Unwrap() []error { return []error{ErrDamagedClaim, metadata.ErrInvalid} }

// DropDamaged deletes a claim that cannot be read. It does nothing if there is none, or
// if another process has replaced it. What its rechunk has staged stays.
func (a Array) DropDamaged(ctx context.Context) error {
	_, err := a.Claim(ctx)
	var d *damagedClaim
	if !errors.As(err, &d) {
		return err
	}
	return a.Drop(ctx, &Claim{info: store.Info{Version: d.version}})
}

// Take stores a claim. If another one exists, the error is [ErrClaimed].
func (a Array) Take(ctx context.Context, c *Claim, d store.Durability) error {
	return a.putClaim(ctx, c, store.IfAbsent(), d)
}

// Replace replaces a claim by another one. If another process has changed it, the error
// is [ErrClaimed].
func (a Array) Replace(ctx context.Context, old, by *Claim, d store.Durability) error {
	// The condition decides between two processes that both see the lease lapse, and
	// makes a renewal fail that arrives after the claim was taken over.
	return a.putClaim(ctx, by, store.IfVersion(old.info.Version), d)
}

// putClaim stores a claim on a condition.
func (a Array) putClaim(ctx context.Context, c *Claim, cond store.Condition, d store.Durability) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	key := a.Path.MustKey(claimName)
	v, err := store.Write(ctx, a.Store, store.PutIf(key, data, cond), d)
	switch {
	case errors.Is(err, store.ErrUnsupported):
		// Without conditional writes the caller is the only writer.
		v, err = store.Write(ctx, a.Store, store.Put(key, data), d)
	case errors.Is(err, store.ErrConflict):
		return ErrClaimed
	}
	c.info = store.Info{Size: int64(len(data)), Version: v.Version}
	return err
}

// Drop deletes a claim, unless another process has replaced it.
func (a Array) Drop(ctx context.Context, c *Claim) error {
	key := a.Path.MustKey(claimName)
	_, err := store.Write(ctx, a.Store, store.DeleteIf(key, c.info.Version), store.Sync)
	if errors.Is(err, store.ErrUnsupported) {
		_, err = store.Write(ctx, a.Store, store.Delete(key), store.Sync)
	}
	// The claim is that of another process by now, which will drop it.
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
