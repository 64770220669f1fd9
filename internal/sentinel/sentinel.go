// SPDX-License-Identifier: Apache-2.0

// Package sentinel joins the errors by which several packages say the same thing.
//
// Each of these packages has an exported error of its own, such as store.ErrUnsupported.
// The error of the root package matches all of them with [errors.Is].
package sentinel

import "errors"

// ErrUnsupported is the error of the root package: something may be valid but is not
// implemented, or a store lacks a power.
var ErrUnsupported = errors.New("not supported")

// kind is an error of one package that stands for a joint one.
type kind struct {
	text  string
	joint error
}

// New returns an error with a text of its own that [errors.Is] also matches with joint.
func New(text string, joint error) error { return &kind{text, joint} }

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.joint }
