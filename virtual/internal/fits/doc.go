// SPDX-License-Identifier: Apache-2.0

// Package fits finds the images of FITS files. Sections are those of the FITS Standard,
// version 4.0.
//
// The primary image is called "primary", an extension as its keyword EXTNAME says, with
// its EXTVER if that is not 1, such as "SCI_2". Without a name that an array can have, or
// with that of an earlier one, it is "hdu_" and its number; the primary one has number 0.
//
// Values are those in the file. The keywords BSCALE, BZERO and BLANK, which say what they
// mean, are attributes, as are all keywords that do not describe the layout. Those of a
// header without an image are attributes of a group. The primary header has the root.
//
// Tables, compressed images, random groups and foreign extensions are arrays that are
// refused.
package fits
