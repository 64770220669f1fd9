// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/store"
)

// IsMissing reports whether an error means that there is no object.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// IsConflict reports whether an error means that a condition does not hold.
func IsConflict(err error) bool { return errors.Is(err, store.ErrConflict) }

// Unknown returns the error of a change whose outcome is not known. It does not wrap
// [store.ErrConflict], which would mean that nothing has changed.
func Unknown(cause error) error {
	return fmt.Errorf("the answer of the service was lost, and it is not known whether the change was made; read the value again (%v)", cause)
}

// Conflict returns an error that is [store.ErrConflict], and no longer [fs.ErrNotExist].
func Conflict(cause error) error {
	if IsConflict(cause) {
		return cause
	}
	return fmt.Errorf("%w: there is no value (%v)", store.ErrConflict, cause)
}

// NoVersion returns the error of a condition without a version that an object can have.
// noun is what the service calls an object.
func NoVersion(v store.Version, noun string) error {
	return fmt.Errorf("%w: the condition asks for version %.40q, which no %s has", store.ErrConflict, v, noun)
}

// IsUncertain reports whether a request that failed may have been carried out.
func IsUncertain(err error) bool {
	if errors.As(err, new(*Unsent)) {
		return false
	}
	if f := (*Fault)(nil); errors.As(err, &f) {
		return f.Status >= 500 || f.Status == 408
	}
	return true
}

// Attempts makes attempts until one succeeds, or fails for good.
type Attempts func(ctx context.Context, attempt func(ctx context.Context) error) error

// Change makes attempts of a change. doubt means that one of them that failed may have
// been carried out.
func (a Attempts) Change(ctx context.Context, attempt func(ctx context.Context) error) (doubt bool, err error) {
	err = a(ctx, func(ctx context.Context) error {
		err := attempt(ctx)
		doubt = doubt || err != nil && IsUncertain(err)
		return err
	})
	return doubt, err
}

// Delete makes attempts of a deletion on the condition of a version. After a lost answer,
// a condition that does not hold says nothing: the deletion may have been carried out.
func (a Attempts) Delete(ctx context.Context, attempt func(ctx context.Context) error) (doubt bool, err error) {
	err = a(ctx, func(ctx context.Context) error {
		err := attempt(ctx)
		switch {
		case err == nil:
			return nil
		case (IsMissing(err) || IsConflict(err)) && doubt:
			return Unknown(err)
		case IsMissing(err) || IsConflict(err):
			return Conflict(err)
		}
		doubt = doubt || IsUncertain(err)
		return err
	})
	return doubt, err
}

// Write is a write of an object, which gives the object a mark of its own.
type Write struct {
	// Look returns the version of the object, and whether it has the mark.
	Look func(ctx context.Context) (version string, marked bool, err error)
	Noun string // what the service calls an object
	// HasVersion says that the condition of the write names a version.
	HasVersion bool
}

// Settle returns the version that a write has made, by the version and the error of its
// last attempt. doubt means that an answer was lost: an attempt that failed may have
// written the value. Then Settle looks for it. It also looks after the answer that the
// condition does not hold: a proxy may have delivered the request twice.
func (w Write) Settle(ctx context.Context, made string, err error, doubt bool) (string, error) {
	if err != nil && ctx.Err() == nil && (doubt || IsConflict(err)) {
		made, err = w.own(ctx, err, doubt)
	}
	// The condition names an object, and there is none.
	if IsMissing(err) && w.HasVersion {
		err = Conflict(err)
	}
	if !doubt && IsRefusal(err) {
		err = Refused(err)
	}
	return made, err
}

// own returns the version of the object if this write made it. Otherwise the error is
// cause or, after a lost answer, that the outcome is unknown: another writer may have
// replaced the value of this write, or the service may carry out the write later.
func (w Write) own(ctx context.Context, cause error, lost bool) (string, error) {
	version, marked, err := w.Look(ctx)
	switch {
	case err == nil && marked:
		return version, nil
	case !lost && (err == nil || !IsTemporary(err)):
		return "", cause
	case err != nil && !IsMissing(err):
		return "", fmt.Errorf("%w; then the %s could not be looked at: %v", Unknown(cause), w.Noun, err)
	}
	return "", Unknown(cause)
}

// Printable returns text of a service for a message: at most so many bytes, in one line,
// and without control characters.
func Printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if text = strings.TrimSpace(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// RetryAfter returns the pause that an answer asks for, or 0 (RFC 9110, section 10.2.3).
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		// Without the limit, the product could overflow.
		return time.Duration(min(seconds, 24*uint64(time.Hour/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// leastSkew is the difference of clocks that is worth a word. Services refuse requests
// that differ by 15 minutes.
const leastSkew = 5 * time.Minute

// ClockAdvice returns advice for an error, beginning with a semicolon, if the clock of
// this machine differs from that of the service. Otherwise it returns "".
func ClockAdvice(h http.Header) string {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return ""
	}
	if d := time.Since(date).Abs(); d > leastSkew {
		return fmt.Sprintf("; the clock of this machine differs from that of the service by %v: set it", d.Round(time.Second))
	}
	return ""
}
