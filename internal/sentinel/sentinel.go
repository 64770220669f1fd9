// SPDX-License-Identifier: Apache-2.0

// Package sentinel joins errors of several packages that have the same meaning.
//
// Each of these packages exports its own error, such as store.ErrUnsupported. With
// [errors.Is], all of them match the error of the root package.
package sentinel

import "errors"

// ErrUnsupported is the error of the root package: something may be valid but is not
// implemented, or a store lacks a power.
var ErrUnsupported = errors.New("not supported")

// kind is the error of one package that also matches a joint error.
type kind struct {
	text  string
	joint error
}

// New returns an error with the given text that [errors.Is] also matches with joint.
func New(text string, joint error) error { return &kind{text, joint} }

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.joint }
