//! What stands in addresses. The patterns keep `/jobs/{id}/…` apart from the addresses beside it
//! (`/jobs/triggers/{id}`, `/jobs/definitions/{key}`): no job's number or id is a word.

use utoipa::IntoParams;

/// `{id}` of a job.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct JobParam {
    /// The number or the id of the job.
    #[param(
        pattern = "^([1-9][0-9]{0,18}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
        example = "48213"
    )]
    id: String,
}

/// `{id}` of a trigger.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct TriggerParam {
    /// The id of the trigger.
    #[param(value_type = Uuid, example = "0192f3c4-7f1e-7c3a-9d55-1b2c3d4e5f60")]
    id: String,
}

/// `{id}` of a bulk operation.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct OperationParam {
    /// The id of the bulk operation.
    #[param(value_type = Uuid, example = "0192f3c4-7f1e-7c3a-9d55-1b2c3d4e5f60")]
    id: String,
}

/// `{id}` of a definition.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct DefinitionParam {
    /// The key or the id of the definition.
    #[param(pattern = "^[A-Za-z0-9._-]{1,64}$", example = "recompute-trained-tags")]
    id: String,
}

/// `{key}` of a definition.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct DefinitionKeyParam {
    /// The key or the id of the definition.
    #[param(pattern = "^[A-Za-z0-9._-]{1,64}$", example = "recompute-trained-tags")]
    key: String,
}
