//! Nothing of its own. `refused` holds safe kernels that compile and that the builder must refuse, `harmless` those that only look wrong; the
//! test `holes` builds both.
