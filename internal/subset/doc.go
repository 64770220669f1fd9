// SPDX-License-Identifier: Apache-2.0

// Package subset has the elements that a selection picks from an array of one shape: as
// steps and lists along every axis, as points or as a mask. Plans visit the chunks that
// have them.
//
// It is the inner side of package selection, which reads and checks what callers select.
// A *selection.Resolved converts to *[Elements] and back.
package subset
