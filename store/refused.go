// SPDX-License-Identifier: Apache-2.0

package store

// Refused returns the error of a write, for drivers, as an error that is [ErrRefused],
// too, with the same text. Without it, callers look for the outcome of the write.
//
// Call it only if the service has refused the write for lack of permission, or there are
// no credentials for it, and no earlier attempt may have taken effect.
func Refused(err error) error { return &refused{err} }

// refused is an error that is [ErrRefused] as well.
type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

func (r *refused) Is(target error) bool { return target == ErrRefused }
