// From a router's logits to the experts of each row and their weights.
//
//   logits -> scores -> + selection bias -> best groups -> best k experts
//                \_______________________________________-> weights
//
// The selection bias decides who is chosen; weights are made of the scores
// without it.
#pragma once

#include "kernels/lanes.hpp"
#include "kernels/router_options.hpp"
#include "kernels/tensor.hpp"

#include <cstdint>

namespace troupe::kernels {

/// Chooses the `top_k` best experts of each row, best first, equal ones by
/// lower id. logits: [rows, experts]; ids, weights: [rows, top_k]. Ids are
/// always distinct, valid and of a kept group; NaN logits lose, and give NaN
/// weights where they enter a softmax or are chosen for want of others.
/// @pre check_router(options, logits.cols)
void route(const router_options& options, matrix_view<const float> logits,
           matrix_view<uint32_t> ids, matrix_view<float> weights, lanes& pool);

} // namespace troupe::kernels
